// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A rule that never says missing, or a watch that is never late, would pass
// every measure.
func TestEveryRuleSeesWhatTheCacheHas(t *testing.T) {
	w, err := newWorld(t.Context())
	require.NoError(t, err)
	defer w.stop()
	began := time.Now()
	ref, err := w.create(t.Context(), 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(w.store.ListKeys()) == 1 }, time.Minute, time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(began), lag)
	each := func(want bool) {
		t.Helper()
		for _, r := range rules {
			require.Eventually(t, func() bool {
				missing, err := r.look(t.Context(), w, ref)
				return err == nil && missing == want
			}, time.Minute, time.Millisecond, r.name)
		}
	}
	each(false)
	assert.Zero(t, w.reads())
	seen, err := w.lister.Get(ref.Name)
	require.NoError(t, err)
	require.NoError(t, w.kube.BatchV1().Jobs(namespace).Delete(t.Context(), ref.Name, metav1.DeleteOptions{}))
	w.watched.Delete(seen.DeepCopy())
	each(true)
}
