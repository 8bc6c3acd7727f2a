// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// reading reads as whom config is.
func reading(t *testing.T, config *rest.Config) live.Get {
	t.Helper()
	dyn, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return func(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
		return dyn.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}

// reference is a Rollout that refers to an object, and the errors that are
// reported about it.
type reference struct {
	rollout *rollout.Rollout
	errs    []string
	state   live.Phase // what the controller says
}

// references are Rollouts that refer to missing or unfit objects, and a right
// one.
func references(t *testing.T) map[string]reference {
	t.Helper()
	canary := func(change func(*rollout.Rollout)) *rollout.Rollout {
		r := converted(t, "web:1", rollout.Options{})
		r.Spec.Replicas = new(int32(0))
		change(r)
		return r
	}
	step := func(s rollout.Step) *rollout.Rollout {
		return canary(func(r *rollout.Rollout) {
			r.Spec.Strategy.Canary.Steps = append(r.Spec.Strategy.Canary.Steps, s)
		})
	}
	analysis := func(name string, cluster bool) rollout.Step {
		return rollout.Step{Analysis: map[string]any{"templates": []any{map[string]any{"templateName": name, "clusterScope": cluster}}}}
	}
	both := func(first, second string) rollout.Step {
		return rollout.Step{Analysis: map[string]any{"templates": []any{map[string]any{"templateName": first}, map[string]any{"templateName": second}}}}
	}
	const at = "spec.strategy.canary."
	return map[string]reference{
		"workload": {canary(func(r *rollout.Rollout) {
			r.Spec.Template, r.Spec.WorkloadRef = nil, &rollout.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "missing"}
		}), []string{"spec.workloadRef.name: Not found"}, live.Invalid},
		"stable":           {canary(func(r *rollout.Rollout) { r.Spec.Strategy.Canary.StableService = "missing" }), []string{at + "stableService: Not found"}, live.Invalid},
		"canary":           {canary(func(r *rollout.Rollout) { r.Spec.Strategy.Canary.CanaryService = "missing" }), []string{at + "canaryService: Not found"}, live.Invalid},
		"unfit":            {canary(func(r *rollout.Rollout) { r.Spec.Strategy.Canary.StableService = "others" }), []string{at + "stableService: Invalid value"}, live.Invalid},
		"template":         {step(analysis("missing", false)), []string{at + "steps[2].analysis.templates[0].templateName: Not found"}, live.Invalid},
		"cluster-template": {step(analysis("missing", true)), []string{at + "steps[2].analysis.templates[0].templateName: Not found"}, live.Invalid},
		"nested":           {step(analysis("nests", false)), []string{at + "steps[2].analysis.templates[0].templateName: Not found"}, live.Invalid},
		"endless":          {step(analysis("endless", false)), []string{at + "steps[2].analysis.templates[0].templateName: Invalid value"}, live.Invalid},
		"plugin":           {step(rollout.Step{Plugin: map[string]any{"name": "team/missing"}}), []string{at + "steps[2].plugin.name: Not found"}, live.Healthy},
		"metric-twice":     {step(both("errors", "again")), []string{at + "steps[2].analysis.templates: Invalid value"}, live.Invalid},
		"rule-twice":       {step(both("rules", "rules-too")), []string{at + "steps[2].analysis.templates: Invalid value"}, live.Invalid},
		"two-values":       {step(both("one", "two")), []string{at + "steps[2].analysis.templates: Invalid value"}, live.Invalid},
		"undeclared":       {step(both("takes", "one")), []string{at + "steps[2].analysis.templates[0].templateName: Invalid value"}, live.Invalid},
		"no-selector":      {canary(func(r *rollout.Rollout) { r.Spec.Strategy.Canary.StableService = "bare" }), nil, live.Healthy},
		"right":            {step(analysis("errors", false)), nil, live.Healthy},
	}
}

// TestReferences_OnTheRealController: References reports every missing object
// of a Rollout before it is applied. The controller reports them afterwards,
// one at a time, or never.
//
//req:shows R3
func TestReferences_OnTheRealController(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.references() // what the right one refers to
	s.serviceOf("others", map[string]string{"app": "other"})
	s.template("nests", map[string]any{"templates": []any{map[string]any{"templateName": "missing"}}})
	s.template("endless", map[string]any{"metrics": []any{map[string]any{
		"name": "x", "interval": "5s", "provider": map[string]any{"web": map[string]any{"url": "http://127.0.0.1", "jsonPath": "{$}"}},
	}}})
	metric := func(name, url string) []any {
		return []any{map[string]any{
			"name": name, "count": int64(1), "provider": map[string]any{"web": map[string]any{"url": url, "jsonPath": "{$}"}},
		}}
	}
	argument := []any{map[string]any{"name": "host", "value": "1"}}
	s.serviceOf("bare", nil)
	s.template("again", map[string]any{"metrics": metric("x", "http://127.0.0.1")})
	s.template("rules", map[string]any{"metrics": metric("a", "http://127.0.0.1"), "dryRun": []any{map[string]any{"metricName": "a"}}})
	s.template("rules-too", map[string]any{"metrics": metric("b", "http://127.0.0.1"), "dryRun": []any{map[string]any{"metricName": "a"}}})
	s.template("one", map[string]any{"metrics": metric("one", "http://{{args.host}}"), "args": argument})
	s.template("two", map[string]any{"metrics": metric("two", "http://127.0.0.1"), "args": []any{map[string]any{"name": "host", "value": "2"}}})
	s.template("takes", map[string]any{"metrics": metric("takes", "http://{{args.host}}")})
	get := reading(t, plane.Config())
	for name, row := range references(t) {
		r := row.rollout
		r.Name, r.Namespace = name, s.namespace
		require.Empty(t, rollout.Validate(r), "%s: nothing but a cluster can know", name)
		errs := live.References(t.Context(), r, get, "")
		require.Len(t, errs, len(row.errs), "%s: %v", name, errs)
		for i, e := range errs {
			assert.True(t, strings.HasPrefix(e.Error(), row.errs[i]+": "), "%s: %v", name, e)
		}
		s.apply(r)
	}
	for name, row := range references(t) {
		s.reaches(name, row.state)
	}

	// The controller takes it up once it is there.
	s.service("missing")
	r := references(t)["stable"].rollout
	r.Name, r.Namespace = "stable", s.namespace
	require.Empty(t, live.References(t.Context(), r, get, ""))
	s.reaches("stable", live.Healthy)
}
