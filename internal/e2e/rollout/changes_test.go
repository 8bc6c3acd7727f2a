// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/rollout"
	"github.com/proompteng/controllerkit/rollout/live"
)

// TestCanary_ChangedDuringAPause: the canary begins again with the first step,
// and the stable version stays.
//
//req:shows R3
func TestCanary_ChangedDuringAPause(t *testing.T) {
	t.Parallel()
	steps := []rollout.Step{rollout.SetWeight(20), rollout.PauseManual(), rollout.SetWeight(60), rollout.PauseManual()}
	others := []rollout.Step{rollout.SetWeight(40), rollout.PauseManual(), rollout.SetWeight(80), rollout.PauseManual()}
	for name, tc := range map[string]struct {
		reason string
		image  string
		steps  []rollout.Step
		want   map[string]int
	}{
		"AThirdVersion": {"It ends the canary of the second, and no pod of that stays.", "web:3", steps, map[string]int{"web:3": 1, "web:1": 4}},
		"OtherSteps":    {"The same version gives pods back if the new steps ask for fewer.", "web:2", others, map[string]int{"web:2": 2, "web:1": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.started(converted(t, "web:1", rollout.Options{Steps: steps}))
			c := s.measure(5)
			stable := s.stable()
			s.apply(converted(t, "web:2", rollout.Options{Steps: steps}))
			s.pausedAt(1, map[string]int{"web:2": 1, "web:1": 4})
			s.promote(false)
			s.pausedAt(3, map[string]int{"web:2": 3, "web:1": 2})

			s.apply(converted(t, tc.image, rollout.Options{Steps: tc.steps}))
			s.pausedAt(1, tc.want)
			assert.Equal(t, stable, s.stable(), tc.reason)
			s.capacity("changed", c, 6)
		})
	}
}

// pausedAt waits until the Rollout pauses at the step with this index, and just
// these images run.
func (s *stage) pausedAt(step int64, want map[string]int) {
	s.Helper()
	s.eventually("it pauses at its step", func(c *assert.CollectT) {
		u := s.get("web")
		state, message := live.PhaseOf(u)
		require.Equal(c, live.Paused, state, message)
		at, _, err := unstructured.NestedInt64(u.Object, "status", "currentStepIndex")
		require.NoError(c, err)
		require.Equal(c, step, at)
		require.Equal(c, want, s.images())
	})
}

// stable is the hash of the pods that are stable.
func (s *stage) stable() string {
	s.Helper()
	hash, _, err := unstructured.NestedString(s.get("web").Object, "status", "stableRS")
	require.NoError(s, err)
	require.NotEmpty(s, hash)
	return hash
}
