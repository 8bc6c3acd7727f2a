// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/rollout"
)

// started applies the safe canary and waits until it is healthy, with nothing
// rewritten by the controller.
func (s *stage) started(r *rollout.Rollout) {
	s.Helper()
	s.apply(r)
	u := s.reaches("web", rollout.Healthy)
	require.EqualValues(s, 1, u.GetGeneration(), "the controller has nothing to add to the spec")
	require.EqualValues(s, 1, s.apply(r).GetGeneration(), "nor an apply of the same to put back")
	require.Equal(s, map[string]int{"web:1": 5}, s.images())
}

// TestCanary_PausesAndIsPromoted, step by step and then fully. At each step as
// many pods run as Counts says.
//
//req:shows R2
func TestCanary_PausesAndIsPromoted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	steps := []rollout.Step{
		rollout.SetWeight(20), rollout.PauseManual(),
		rollout.SetWeight(60), rollout.PauseManual(),
		rollout.SetWeight(80), rollout.PauseManual(),
	}
	s.started(converted(t, "web:1", rollout.Options{Steps: steps}))
	require.Nil(t, rollout.PromotePatch(s.get("web"), false), "there is nothing to promote")
	c := s.measure(5)

	next := converted(t, "web:2", rollout.Options{Steps: steps})
	s.apply(next)
	s.pausedAt(1, next, 20)
	s.promote(false)
	s.pausedAt(3, next, 60)
	s.promote(true)
	u := s.reaches("web", rollout.Healthy)
	s.runs(map[string]int{"web:2": 5})
	assert.EqualValues(t, 2, u.GetGeneration(), "a promotion does not change the spec")
	s.capacity("promoted", c, 6)
}

// promote sends the patch.
func (s *stage) promote(full bool) {
	s.Helper()
	s.act(func(r *rollout.Rollout) []byte { return rollout.PromotePatch(r, full) })
}

// act sends a patch of the status. It reads the object again if the controller
// has written since, because the patch is for the object that was read.
func (s *stage) act(of func(r *rollout.Rollout) []byte) {
	s.Helper()
	s.eventually("patched", func(c *assert.CollectT) {
		patch := of(s.get("web"))
		require.NotNil(c, patch)
		_, err := s.rollouts.Patch(s.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
		if !apierrors.IsConflict(err) {
			require.NoError(s, err)
		}
		require.NoError(c, err)
	})
}

// TestCanary_Aborted: Degraded until the old template is put back, and then
// Healthy immediately, and all of its pods stay.
func TestCanary_Aborted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := converted(t, "web:1", rollout.Options{})
	s.started(first)
	c := s.measure(5)
	s.apply(converted(t, "web:2", rollout.Options{}))
	s.reaches("web", rollout.Paused)
	s.act(rollout.AbortPatch)
	_, message := rollout.PhaseOf(typed(t, s.reaches("web", rollout.Degraded)), 0)
	assert.Contains(t, message, "abort")
	s.runs(map[string]int{"web:1": 5})
	s.act(rollout.RetryPatch)
	s.reaches("web", rollout.Paused)
	s.act(rollout.AbortPatch)
	s.reaches("web", rollout.Degraded)
	s.apply(first)
	s.reaches("web", rollout.Healthy)
	s.capacity("aborted", c, 6)
}

// pausedAt waits until the Rollout pauses at the step with this index, and as
// many pods run as Counts says for the weight.
func (s *stage) pausedAt(step int32, r *rollout.Rollout, weight int32) {
	s.Helper()
	canary, stable := r.Counts(weight)
	s.eventually("it pauses at its step", func(c *assert.CollectT) {
		u := s.get("web")
		state, message := rollout.PhaseOf(u, 0)
		require.Equal(c, rollout.Paused, state, message)
		require.NotEmpty(c, message)
		require.NotNil(c, u.Status.CurrentStepIndex)
		require.Equal(c, step, *u.Status.CurrentStepIndex)
		require.Equal(c, map[string]int{"web:2": int(canary), "web:1": int(stable)}, s.images())
	})
}

// stable is the hash of the pods that are stable.
func (s *stage) stable() string {
	s.Helper()
	hash := s.kubectl("get rollout web -o jsonpath={.status.stableRS}")
	require.NotEmpty(s, hash)
	return hash
}
