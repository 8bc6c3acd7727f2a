// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
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

// TestMigration_TakesAThresholdOfMorePodsThanRun: the autoscaler may set more,
// and rollout.Validate does not refuse it. Without one the step would never be
// done.
func TestMigration_TakesAThresholdOfMorePodsThanRun(t *testing.T) {
	r := converted(t)
	r.Spec.Replicas = nil
	r.Spec.Strategy.Canary.ReplicaProgressThreshold = map[string]any{"type": "Pods", "value": 3}
	require.Empty(t, rollout.Validate(r))
	p, errs := plan.Migration(running(), r, []autoscalingv2.HorizontalPodAutoscaler{scaler("web", "Deployment", "web")}, plan.Options{})
	assert.Empty(t, errs)
	assert.NotEmpty(t, p.Actions)
	assert.EqualValues(t, 5, written(t, p)["spec"].(map[string]any)["replicas"])
	_, errs = plan.Migration(running(), r, nil, plan.Options{})
	require.Len(t, errs, 1)
	assert.Equal(t, "spec.strategy.canary.replicaProgressThreshold.value", errs[0].Field)
}
