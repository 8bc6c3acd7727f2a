// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/proompteng/controllerkit/rollout/live"
)

// TestPlan_KeepsADisruptionBudget: a percentage counts the pods that all
// ReplicaSets together should have, for any owner. So the budget needs no
// change: it always has pods, and never allows more disruptions than its
// percentage.
//
//req:shows R5
func TestPlan_KeepsADisruptionBudget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deploy(web("web:1"))
	budgets := s.kube.PolicyV1().PodDisruptionBudgets(s.namespace)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromString("80%")), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	settled := func() (version string) {
		s.eventually("one of five may go", func(c *assert.CollectT) {
			b, err := budgets.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(c, err)
			require.Equal(c, [4]int32{5, 4, 5, 1}, [4]int32{b.Status.ExpectedPods, b.Status.DesiredHealthy, b.Status.CurrentHealthy, b.Status.DisruptionsAllowed})
			version = b.ResourceVersion
		})
		return version
	}
	first := settled()
	w, err := budgets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first})
	require.NoError(t, err)

	s.follow(s.plan("deployment,hpa", "-plan"))
	s.reaches("web", live.Healthy)
	s.runs(map[string]int{"web:1": 5})
	last := settled()
	require.NotEqual(t, first, last, "the budget saw nothing of it")
	for e := range w.ResultChan() {
		b, ok := e.Object.(*policyv1.PodDisruptionBudget)
		require.True(t, ok, "%v", e.Object)
		got := b.Status
		assert.GreaterOrEqual(t, got.ExpectedPods, int32(5), "%+v", got)
		assert.LessOrEqual(t, got.ExpectedPods, int32(10), "both workloads: %+v", got)
		assert.GreaterOrEqual(t, got.DesiredHealthy, (4*got.ExpectedPods+4)/5, "80%% of them, rounded up: %+v", got)
		assert.GreaterOrEqual(t, got.CurrentHealthy-got.DisruptionsAllowed, int32(4), "what is left of them: %+v", got)
		// Where the budget does not find an owner, nothing may go.
		if c := apimeta.FindStatusCondition(got.Conditions, policyv1.DisruptionAllowedCondition); assert.NotNil(t, c) && c.Reason == policyv1.SyncFailedReason {
			t.Logf("for a moment nothing may go: %s", c.Message)
			assert.Zero(t, got.DisruptionsAllowed)
		}
		if b.ResourceVersion == last {
			w.Stop()
			return
		}
	}
	require.Fail(t, "the watch of the budget has ended")
}
