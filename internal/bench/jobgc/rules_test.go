// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryRuleSeesWhatTheCacheHas(t *testing.T) {
	w, err := newWorld(t.Context(), 0)
	require.NoError(t, err)
	defer w.stop()
	ref, err := w.create(t.Context(), 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(w.store.ListKeys()) == 1 }, time.Minute, time.Millisecond)
	for _, r := range rules {
		require.Eventually(t, func() bool {
			missing, err := r.look(t.Context(), w, ref)
			return err == nil && !missing
		}, time.Minute, time.Millisecond, r.name)
	}
	assert.Zero(t, w.server.gets)
}

// A rule that never says missing would pass every measure.
func TestEveryRuleSeesThatAJobIsGone(t *testing.T) {
	w, err := newWorld(t.Context(), 0)
	require.NoError(t, err)
	defer w.stop()
	ref, err := w.create(t.Context(), 1)
	require.NoError(t, err)
	w.server.remove(ref.Name)
	for _, r := range rules {
		require.Eventually(t, func() bool {
			missing, err := r.look(t.Context(), w, ref)
			return err == nil && missing
		}, time.Minute, time.Millisecond, r.name)
	}
}

func TestWatchesLag(t *testing.T) {
	w, err := newWorld(t.Context(), 50*time.Millisecond)
	require.NoError(t, err)
	defer w.stop()
	began := time.Now()
	_, err = w.create(t.Context(), 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(w.store.ListKeys()) == 1 }, time.Minute, time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}
