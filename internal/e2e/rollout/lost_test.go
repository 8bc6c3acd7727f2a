// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// TestPreflight_NamesAFieldThatTheCRDDrops: the server drops some fields from a
// create that ignores unknown fields. A strict apply refuses a Rollout with
// such a field, and names the first.
//
//req:shows R2
func TestPreflight_NamesAFieldThatTheCRDDrops(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	newer := web("web:1")
	newer.Spec.Replicas = new(int32(0))
	newer.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("web")} // since Kubernetes 1.36
	newer.Spec.Template.Spec.EvictionResponders = []corev1.EvictionResponder{{}}                    // since 1.37
	newer.Spec.Template.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		GRPC: &corev1.GRPCAction{Port: 80, Mode: new(corev1.GRPCProbeMode("TLS"))},
	}}
	ofNewer, errs := rollout.Convert(newer, rollout.Options{})
	require.Empty(t, errs)
	all := converted(t, "web:1", rollout.Options{})
	fill(t, reflect.ValueOf(&all.Spec.Template.Spec).Elem())
	cases := map[string]struct {
		reason string
		of     *rollout.Rollout
		want   []string // among others, where everything is set
		dryRun []string
	}{
		"plain": {"The safe canary is kept whole.", converted(t, "web:1", rollout.Options{}), nil, []string{metav1.DryRunAll}},
		"newer": {"A Deployment keeps what its Kubernetes knows, and the CRD has the pod of an older one.", ofNewer, []string{
			"spec.template.spec.containers[0].livenessProbe.grpc.mode", "spec.template.spec.evictionResponders", "spec.template.spec.schedulingGroup",
		}, nil},
		"all": {"Every field that a pod of this k8s.io/api has.", all, []string{
			"spec.template.spec.containers[0].volumeMounts[0].bindMountOptions", "spec.template.spec.initContainers[0].startupProbe.httpGet.protocol",
		}, []string{metav1.DryRunAll}},
	}
	for name, tc := range cases {
		tc.of.Name, tc.of.Namespace = name, s.namespace
		u, err := tc.of.Unstructured()
		require.NoError(t, err, name)
		kept, err := s.rollouts.Create(t.Context(), u, metav1.CreateOptions{FieldValidation: "Ignore", DryRun: tc.dryRun})
		require.NoError(t, err, name)
		var gone []string
		missing(u.Object["spec"], kept.Object["spec"], "spec", &gone)
		slices.Sort(gone)
		t.Logf("%s: of %d paths lost", name, len(gone))
		if name == "all" {
			assert.Subset(t, gone, tc.want, tc.reason)
		} else {
			assert.Equal(t, tc.want, gone, tc.reason)
		}

		err = live.Preflight(t.Context(), s.rollouts, s.templates, tc.of, manager)
		if len(gone) == 0 {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, ": field not declared in schema", name)
		assert.True(t, slices.ContainsFunc(gone, func(path string) bool {
			return strings.Contains(err.Error(), path[strings.LastIndex(path, "."):]+": field not declared in schema") // elements of lists are named otherwise there
		}), "%s: %v", name, err)
	}
}

// TestValidate_RefusesACreationTimestampOfNull, which Go types before
// k8s.io/api v0.34 write into every pod template: a strict apply refuses it, as
// Validate does before.
//
//req:shows R2
func TestValidate_RefusesACreationTimestampOfNull(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := converted(t, "web:1", rollout.Options{})
	r.Namespace, r.Spec.Replicas = s.namespace, new(int32(0))
	u, err := r.Unstructured()
	require.NoError(t, err)
	u.Object["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["creationTimestamp"] = nil
	const path = "spec.template.metadata.creationTimestamp"
	errs := rollout.Validate(u)
	require.Len(t, errs, 1)
	require.Equal(t, path, errs[0].Field)

	data, err := json.Marshal(u)
	require.NoError(t, err)
	_, err = s.rollouts.Patch(t.Context(), "web", types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: manager, FieldValidation: "Strict"})
	require.ErrorContains(t, err, "."+path+": field not declared in schema")
	kept, err := s.rollouts.Create(t.Context(), u, metav1.CreateOptions{FieldValidation: "Ignore", DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	var gone []string
	missing(u.Object["spec"], kept.Object["spec"], "spec", &gone)
	require.Equal(t, []string{path}, gone)
}

// missing adds the paths of sent that kept lacks. It does not descend below
// them.
func missing(sent, kept any, path string, gone *[]string) {
	switch sent := sent.(type) {
	case map[string]any:
		kept, _ := kept.(map[string]any)
		for key, value := range sent {
			if of, ok := kept[key]; ok {
				missing(value, of, path+"."+key, gone)
			} else {
				*gone = append(*gone, path+"."+key)
			}
		}
	case []any:
		kept, _ := kept.([]any)
		for i, value := range sent {
			if at := fmt.Sprintf("%s[%d]", path, i); i < len(kept) {
				missing(value, kept[i], at, gone)
			} else {
				*gone = append(*gone, at)
			}
		}
	}
}

// fill sets every field: one element of each list, one key of each map.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch of := v.Addr().Interface().(type) { // these have unexported fields
	case *metav1.Time:
		*of = metav1.Unix(1, 0)
		return
	case *metav1.FieldsV1:
		of.SetRawString("{}")
		return
	case *resource.Quantity:
		*of = resource.MustParse("1")
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(t, f)
		}
	default:
	}
	require.False(t, v.IsZero(), "a %s is not set", v.Type())
}
