// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// get reads any object.
func get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	dyn, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		return nil, err
	}
	return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// TestReferences_OnTheRealController: References reports every missing or unfit
// object of a Rollout before it is applied. The controller reports them
// afterwards, one at a time, or never.
//
//req:shows R3
func TestReferences_OnTheRealController(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	objects, err := filepath.Abs(filepath.Join("testdata", "references.yaml"))
	require.NoError(t, err)
	s.kubectl("create -f " + objects)
	const step = "steps[1].analysis.templates"
	cases := map[string]struct {
		canary string     // of the Rollout
		want   string     // the error; none if it is empty
		state  live.Phase // what the controller says
	}{
		"stable":           {`{"stableService":"missing"}`, "stableService: Not found", live.Invalid},
		"canary":           {`{"canaryService":"missing"}`, "canaryService: Not found", live.Invalid},
		"unfit":            {`{"stableService":"others"}`, "stableService: Invalid value", live.Invalid},
		"no-selector":      {`{"stableService":"bare"}`, "", live.Healthy},
		"plugin":           {steps(`{"plugin":{"name":"team/missing"}}`), "steps[1].plugin.name: Not found", live.Healthy},
		"template":         {analysis(`{"templateName":"missing"}`), step + "[0].templateName: Not found", live.Invalid},
		"cluster-template": {analysis(`{"templateName":"missing","clusterScope":true}`), step + "[0].templateName: Not found", live.Invalid},
		"nested":           {analysis(`{"templateName":"nests"}`), step + "[0].templateName: Not found", live.Invalid},
		"endless":          {analysis(`{"templateName":"endless"}`), step + "[0].templateName: Invalid value", live.Invalid},
		"metric-twice":     {analysis(`{"templateName":"errors"},{"templateName":"again"}`), step + ": Invalid value", live.Invalid},
		"rule-twice":       {analysis(`{"templateName":"rules"},{"templateName":"rules-too"}`), step + ": Invalid value", live.Invalid},
		"two-values":       {analysis(`{"templateName":"one"},{"templateName":"two"}`), step + ": Invalid value", live.Invalid},
		"undeclared":       {analysis(`{"templateName":"takes"},{"templateName":"one"}`), step + "[0].templateName: Invalid value", live.Invalid},
		"right":            {analysis(`{"templateName":"errors"}`), "", live.Healthy},
	}
	for name, tc := range cases {
		r := s.referring(name, `{"strategy":{"canary":`+tc.canary+`}}`)
		s.assertReference(r, "spec.strategy.canary.", tc.want)
		s.apply(r)
	}
	workload := s.referring("workload", `{"template":null,"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"missing"}}`)
	s.assertReference(workload, "spec.", "workloadRef.name: Not found")
	s.apply(workload)
	s.reaches("workload", live.Invalid)
	for name, tc := range cases {
		s.reaches(name, tc.state)
	}

	// The controller takes it up once it is there.
	s.kubectl("create service clusterip missing --tcp=80")
	s.kubectl("set selector service missing app=web")
	s.assertReference(s.referring("stable", `{"strategy":{"canary":{"stableService":"missing"}}}`), "", "")
	s.reaches("stable", live.Healthy)
}

func steps(step string) string { return `{"steps":[{"pause":{}},` + step + `]}` }

func analysis(templates string) string {
	return steps(`{"analysis":{"templates":[` + templates + `]}}`)
}

// referring is a Rollout without pods, with a merge patch of its spec.
func (s *stage) referring(name, patch string) *rollout.Rollout {
	s.Helper()
	r := converted(s.T, "web:1", rollout.Options{})
	r.Name, r.Namespace, r.Spec.Replicas = name, s.namespace, new(int32(0))
	data, err := json.Marshal(r)
	require.NoError(s, err)
	data, err = jsonpatch.MergePatch(data, []byte(`{"spec":`+patch+`}`))
	require.NoError(s, err)
	r = new(rollout.Rollout)
	require.NoError(s, json.Unmarshal(data, r))
	return r
}

// assertReference checks what References reports about a Rollout.
func (s *stage) assertReference(r *rollout.Rollout, in, want string) {
	s.Helper()
	require.Empty(s, rollout.Validate(r), "%s: nothing but a cluster can know", r.Name)
	errs := live.References(s.Context(), r, get, "")
	if want == "" {
		assert.Empty(s, errs, r.Name)
		return
	}
	require.Len(s, errs, 1, r.Name)
	assert.True(s, strings.HasPrefix(errs[0].Error(), in+want+": "), "%s: %v", r.Name, errs)
}
