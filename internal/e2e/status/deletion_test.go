// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/status"
)

func TestObjectBeingDeleted(t *testing.T) {
	t.Run("GoneAfterTheRead", func(t *testing.T) {
		s := newStage(t)
		s.reconciled(t, "a")
		assert.Equal(t, status.Gone, typedCommit(t, s, "Running", func() { s.remove(t, "a") }))
	})
	t.Run("GoneAfterAConflict", func(t *testing.T) {
		s := newStage(t)
		before := s.reconciled(t, "a")
		s.respec(t, "a", "new")
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		c := meddled(s.ours.probes.Patch, func(patch string) {
			if patch == "{}" {
				s.remove(t, "a")
			}
		})
		result, err := via(c, writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Gone, result)
	})
	t.Run("RecreatedWhileAskingWhy", func(t *testing.T) {
		s := newStage(t)
		before := s.reconciled(t, "a")
		s.remove(t, "a")
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		var recreated *kinds.Probe
		c := meddled(s.ours.probes.Patch, func(patch string) {
			if patch == "{}" {
				recreated = s.create(t, "a")
			}
		})
		result, err := via(c, writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Gone, result)
		assert.Equal(t, recreated, s.read(t, "a"))
	})
	t.Run("HeldByAFinalizer", func(t *testing.T) {
		s := newStage(t)
		s.reconciled(t, "a")
		finalizers := func(list string) {
			_, err := s.theirs.probes.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		finalizers(`["example.com/hold"]`)
		assert.Equal(t, status.Merged, typedCommit(t, s, "Stopping", func() { s.remove(t, "a") }), "a deletion is a change of the object")
		stored := s.read(t, "a")
		require.NotNil(t, stored.DeletionTimestamp)
		assert.Equal(t, "Stopping", stored.Status.Phase)
		assert.EqualValues(t, 2, stored.Generation, "a deletion is a new generation")
		assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "which was not yet seen")

		assert.Equal(t, status.Written, typedCommit(t, s, "Stopped", func() {}), "a finalizer's controller can write its status")
		assert.EqualValues(t, 2, s.read(t, "a").Status.ObservedGeneration)
		assert.Equal(t, status.Gone, typedCommit(t, s, "Free", func() { finalizers(`[]`) }))
	})
}
