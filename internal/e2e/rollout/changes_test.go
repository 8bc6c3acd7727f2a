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

// TestASecondChangeDuringAPause: a third version ends the canary of the second, of which no pod stays, and begins with its own first step;
// stable is what was stable before.
func TestASecondChangeDuringAPause(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	steps := []rollout.Step{rollout.Weight(20), rollout.PauseManual(), rollout.Weight(60), rollout.PauseManual()}
	s.started(converted(t, "web:1", rollout.Options{Steps: steps}))
	c := s.measure(5)
	stable := s.stable()
	s.apply(converted(t, "web:2", rollout.Options{Steps: steps}))
	s.pausedAt(1, map[string]int{"web:2": 1, "web:1": 4})
	s.promote(false)
	s.pausedAt(3, map[string]int{"web:2": 3, "web:1": 2})

	s.apply(converted(t, "web:3", rollout.Options{Steps: steps}))
	s.pausedAt(1, map[string]int{"web:3": 1, "web:1": 4})
	assert.Equal(t, stable, s.stable())
	least, most := s.settled(c, 5)
	t.Logf("ready endpoints: least %d, most %d", least, most)
	assert.Equal(t, 5, least)
	assert.LessOrEqual(t, most, 6)
}

// TestOtherStepsWhilePaused: the same version goes through the new steps from the first on, and gives pods back if that asks for fewer.
func TestOtherStepsWhilePaused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	steps := []rollout.Step{rollout.Weight(20), rollout.PauseManual(), rollout.Weight(60), rollout.PauseManual()}
	s.started(converted(t, "web:1", rollout.Options{Steps: steps}))
	c := s.measure(5)
	stable := s.stable()
	s.apply(converted(t, "web:2", rollout.Options{Steps: steps}))
	s.pausedAt(1, map[string]int{"web:2": 1, "web:1": 4})
	s.promote(false)
	s.pausedAt(3, map[string]int{"web:2": 3, "web:1": 2})

	others := []rollout.Step{rollout.Weight(40), rollout.PauseManual(), rollout.Weight(80), rollout.PauseManual()}
	s.apply(converted(t, "web:2", rollout.Options{Steps: others}))
	s.pausedAt(1, map[string]int{"web:2": 2, "web:1": 3})
	assert.Equal(t, stable, s.stable())
	least, most := s.settled(c, 5)
	t.Logf("ready endpoints: least %d, most %d", least, most)
	assert.Equal(t, 5, least)
	assert.LessOrEqual(t, most, 6)
}

// pausedAt waits until the Rollout pauses at the step with this index, and just these images run.
func (s *stage) pausedAt(step int64, want map[string]int) {
	s.Helper()
	s.eventually("it pauses at its step", func(c *assert.CollectT) {
		u := s.get("web")
		state, message := live.Phase(u)
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
