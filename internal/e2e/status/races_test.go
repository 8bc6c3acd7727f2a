// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// The races: another client writes between the read and the write.

//req:shows S1
func TestSpecChangedMidReconcile(t *testing.T) {
	s := newStage(t)
	before := s.reconciled(t, "a")
	after := before.DeepCopy()
	after.Status.Reason = "Running"
	setCondition(after, "Ready", metav1.ConditionTrue, "Running")
	s.respec(t, "a", "new")

	result, err := via(s.ours.runs.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Merged, result)

	stored := s.read(t, "a")
	assert.EqualValues(t, 2, stored.Generation)
	assert.Equal(t, "Running", stored.Status.Reason, "the verdict on the old spec is written")
	assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "but not as one on the new spec")
	assert.EqualValues(t, 1, apimeta.FindStatusCondition(stored.Status.Conditions, "Ready").ObservedGeneration, "nor does the condition claim that")
	assert.EqualValues(t, 1, after.Generation, "the server's reply does not move what was read")
	assert.Equal(t, "old", after.Spec.Image)
	after.Finalizers = []string{"example.com/cleanup"}
	_, err = s.ours.runs.Update(t.Context(), after, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "a later Update with the old spec must not overwrite the new one: %v", err)

	next := stored.DeepCopy()
	_, err = via(s.ours.runs.Patch, status.Writer{}).Commit(t.Context(), stored, next, running)
	require.NoError(t, err)
	assert.EqualValues(t, 2, s.read(t, "a").Status.ObservedGeneration, "the reconcile of the new spec claims it")
}
