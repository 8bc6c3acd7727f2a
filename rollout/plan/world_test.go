// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kjson "sigs.k8s.io/json"
)

// world is a cluster as far as a plan sees it.
type world struct {
	Objects map[string]map[string]any // by kind and name
	Least   int                       // pods, so far
}

func clone(t *testing.T, w world) world {
	t.Helper()
	data, err := json.Marshal(w)
	require.NoError(t, err)
	var out world
	require.NoError(t, kjson.UnmarshalCaseSensitivePreserveInts(data, &out))
	return out
}

// outcome has the objects that are left in the end: of a workload its replicas
// and its image, of an autoscaler its target.
func (w world) outcome() map[string]string {
	out := map[string]string{}
	for key, o := range w.Objects {
		if key == "hpa/web" {
			out[key] = targetOf(o)
			continue
		}
		out[key] = fmt.Sprintf("%d pods of %s", replicas(o), image(o))
	}
	return out
}

func targetOf(hpa map[string]any) string {
	kind, _, _ := unstructured.NestedString(hpa, "spec", "scaleTargetRef", "kind")
	return strings.ToLower(kind) + "/web"
}

func replicas(o map[string]any) int {
	n, found, _ := unstructured.NestedFieldNoCopy(o, "spec", "replicas")
	if !found {
		return 1
	}
	count, _ := strconv.Atoi(jsonText(n))
	return count
}

func image(o map[string]any) string {
	list, _, _ := unstructured.NestedSlice(o, "spec", "template", "spec", "containers")
	return list[0].(map[string]any)["image"].(string)
}

// bump sets a field of a spec, as a write to the server does.
func bump(o map[string]any, name string, value any) {
	o["spec"].(map[string]any)[name] = value
	meta := o["metadata"].(map[string]any)
	n, _ := strconv.Atoi(jsonText(meta["generation"]))
	meta["generation"] = int64(n + 1)
}

// setVariable is a release that changes a variable, and nothing else.
func setVariable(o map[string]any, value string) {
	template := o["spec"].(map[string]any)["template"].(map[string]any)
	container := template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	container["env"] = []any{map[string]any{"name": "A", "value": value}}
	bump(o, "template", template)
}

func release(o map[string]any, image string) {
	template := o["spec"].(map[string]any)["template"].(map[string]any)
	template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = image
	bump(o, "template", template)
}

// each changes the workloads.
func (w world) each(change func(map[string]any)) {
	for key, o := range w.Objects {
		if key != "hpa/web" {
			change(o)
		}
	}
}

// scalers are the HorizontalPodAutoscalers.
func (w world) scalers() []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(w.Objects)) {
		if strings.HasPrefix(key, "hpa/") {
			all = append(all, w.Objects[key])
		}
	}
	return all
}

// scale is what the autoscaler does to its target, if that is there.
func (w world) scale(n int) (scaled bool) {
	o := w.Objects[targetOf(w.Objects["hpa/web"])]
	if o == nil {
		return false
	}
	bump(o, "replicas", n)
	return true
}

// reconcileAll is what the controllers do. A Rollout in the middle of a canary waits.
func reconcileAll(w *world) {
	pods := 0
	for key, o := range w.Objects {
		if key == "hpa/web" {
			continue
		}
		n := replicas(o)
		pods += n
		status, _ := o["status"].(map[string]any)
		if status == nil {
			status = map[string]any{"stableRS": "a", "currentPodHash": "a"}
			o["status"] = status
		}
		if status["stableRS"] != status["currentPodHash"] {
			continue
		}
		generation := jsonText(o["metadata"].(map[string]any)["generation"])
		status["observedGeneration"] = generation
		if strings.HasPrefix(key, "deployment/") {
			number, _ := strconv.ParseInt(generation, 10, 64)
			status["observedGeneration"] = number
		}
		status["replicas"] = n
		status["updatedReplicas"] = n
		status["availableReplicas"] = n
		status["phase"] = "Healthy"
		status["conditions"] = completed()
	}
	w.Least = min(w.Least, pods)
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
