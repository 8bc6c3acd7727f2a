// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

// The kubectl of cluster is a script of bash.

package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/plan"
)

func TestMigration_HandsOverItsOwnAutoscaler(t *testing.T) {
	elsewhere := scaler("elsewhere", "Deployment", "web")
	elsewhere.Namespace = "other"
	anywhere := scaler("anywhere", "Deployment", "web")
	anywhere.Namespace = ""
	cases := map[string]struct {
		reason string
		hpa    autoscalingv2.HorizontalPodAutoscaler
		want   bool
	}{
		"OfTheDeployment":  {"It scales what goes.", scaler("h", "Deployment", "web"), true},
		"OfTheRollout":     {"A run of the plan that was broken off left it so.", scaler("h", "Rollout", "web"), true},
		"OfAnother":        {"The same kind.", scaler("h", "Deployment", "api"), false},
		"OfAnotherRollout": {"The same kind.", scaler("h", "Rollout", "api"), false},
		"OfAnotherKind":    {"The same name.", scaler("h", "StatefulSet", "web"), false},
		"InAnotherPlace":   {"The same name in another namespace.", elsewhere, false},
		"InNoPlace":        {"A manifest that is applied to the namespace at hand.", anywhere, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := migration(t, nil, []autoscalingv2.HorizontalPodAutoscaler{tc.hpa}, plan.SideBySide)
			assert.Equal(t, tc.want, index(p, "patch hpa "+tc.hpa.Name) > 0, tc.reason)
		})
	}
}

// TestMigration_TakesAThresholdOfMorePodsThanRun: the autoscaler may set more.
func TestMigration_TakesAThresholdOfMorePodsThanRun(t *testing.T) {
	r := converted(t)
	r.Spec.Replicas = nil
	r.Spec.Strategy.Canary.ReplicaProgressThreshold = map[string]any{"type": "Pods", "value": 3}
	require.Empty(t, rollout.Validate(r))
	p, errs := plan.Migration(running(), r, []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Deployment", "web")}, plan.Options{})
	assert.Empty(t, errs)
	assert.NotEmpty(t, p.Actions)
	assert.EqualValues(t, 5, written(t, p)["spec"].(map[string]any)["replicas"])
}

// putBack is what KEDA and GitOps tools do within a second: the autoscaler has
// its old target again.
func putBack(w world, source string) {
	old := scaler("web", "Deployment", "web")
	if source == "rollout/web" {
		old = scaler("web", "Rollout", "web")
	}
	ref := old.Spec.ScaleTargetRef
	bump(w.Objects["hpa/web"], "scaleTargetRef", map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name})
}

// TestPlan_StopsIfTheTargetIsPutBack: no workload is removed that an
// autoscaler scales, and no plan ends as if all were done.
//
//req:shows R5
func TestPlan_StopsIfTheTargetIsPutBack(t *testing.T) {
	for _, j := range journeys(t) {
		if !strings.Contains(j.name, "Scaled") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			const stop = "STOP: HorizontalPodAutoscaler web does not scale "
			handed := index(j.plan, "patch hpa web")
			c := newCluster(t, j.from)
			for _, a := range j.plan.Actions[:handed+1] {
				c.run(a.Command)
			}
			w := c.world()
			putBack(w, j.source())
			c.set(w)
			before := workloads(c.world())

			out, err := c.try(j.plan.Actions[handed].Until)
			require.Error(t, err, "put back within a second")
			assert.Contains(t, out, stop)

			later := j.plan
			later.Actions = j.plan.Actions[handed+1:]
			if len(later.Actions) == 0 {
				return // Adopt removes no pods after it
			}
			out, err = c.try(later.String())
			require.Error(t, err, "put back later, before pods are taken")
			assert.Contains(t, out, stop)
			assert.Equal(t, before, workloads(c.world()))
		})
	}
}

// TestPlan_UndoStopsIfTheTargetIsPutBack: where the manifest has the new target
// already, a tool puts that one back.
func TestPlan_UndoStopsIfTheTargetIsPutBack(t *testing.T) {
	for _, j := range journeys(t) {
		_, rest, found := strings.Cut(j.plan.Header, "To go back, up to step ")
		if !found || !strings.Contains(j.name, "Scaled") {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			_, undo, _ := strings.Cut(rest, ": ")
			undo, _, _ = strings.Cut(undo, "\n")
			c := newCluster(t, j.from)
			for _, a := range j.plan.Actions[:index(j.plan, "patch hpa web")+1] {
				c.run(a.Command)
			}
			c.stubborn = true
			before := workloads(c.world())
			out, err := c.try(undo)
			require.Error(t, err, out)
			assert.Equal(t, before, workloads(c.world()), undo)
		})
	}
}
