// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// TestObjectBeingDeleted: the controller of a finalizer writes the status until
// the object is gone.
func TestObjectBeingDeleted(t *testing.T) {
	s := newStage(t)
	s.reconciled(t, "a")
	finalizers := func(list string) {
		require.NoError(t, mergeObject(`{"metadata":{"finalizers":`+list+`}}`)(t, s.theirs.dynamic(runs), names{}))
	}
	finalizers(`["example.com/hold"]`)
	assert.Equal(t, status.Merged, typedCommit(t, s, "Stopping", func() { s.remove(t, "a") }), "a deletion is a change of the object")
	stored := s.read(t, "a")
	require.NotNil(t, stored.DeletionTimestamp)
	assert.Equal(t, "Stopping", stored.Status.Reason)
	assert.EqualValues(t, 2, stored.Generation, "a deletion is a new generation")
	assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "which was not yet seen")

	assert.Equal(t, status.Written, typedCommit(t, s, "Stopped", func() {}), "a finalizer's controller can write its status")
	assert.EqualValues(t, 2, s.read(t, "a").Status.ObservedGeneration)
	assert.Equal(t, status.Gone, typedCommit(t, s, "Free", func() { finalizers(`[]`) }))
}
