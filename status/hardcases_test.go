// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// The hard cases: each is a way in which controllers have lost or falsified a
// status.

var (
	running = status.Facts{Progress: status.Running}
	done    = status.Facts{Progress: status.Done}
)

func cond(typ string, s metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: typ, Status: s, Reason: reason}
}

// start stores an object that has been reconciled once.
func start(t *testing.T) (*server, *Run) {
	t.Helper()
	s := newServer(t)
	s.create("a")
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "Pending"
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionFalse, "Pending"), noon)
	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, status.Facts{})
	require.NoError(t, err)
	s.sent()
	return s, get[Run](t, s, "a")
}

//req:shows S1
func TestCommit_SpecChangedMidReconcile(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionTrue, "Running"), noon)
	s.respec("a", "new")

	result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)

	stored := get[Run](t, s, "a")
	assert.EqualValues(t, 2, stored.Generation)
	assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "the new spec was not reconciled")
	assert.EqualValues(t, 1, stored.Status.Conditions[0].ObservedGeneration, "nor does a condition claim it")
	assert.EqualValues(t, 1, after.Generation, "the generation that was read stays")
	assert.Empty(t, after.Spec.Image, "the spec that was read stays too")
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "a later Update of the old spec conflicts")

	// The reconcile of the new spec then claims it.
	again := stored.DeepCopy()
	result, err = via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), stored, again, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.EqualValues(t, 2, get[Run](t, s, "a").Status.ObservedGeneration)
}

func TestCommit_ObjectRecreatedMidReconcile(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase = "Succeeded"
	s.delete("a")
	s.create("a")
	writes := s.writes

	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, done)
	require.ErrorIs(t, err, status.ErrReplaced)
	assert.Equal(t, writes, s.writes)
	assert.Empty(t, get[Run](t, s, "a").Status, "the new object has nothing of the old one")
}

func TestCommit_StaleCacheReadThenWrite(t *testing.T) {
	w := status.Writer{}
	t.Run("OfAnOlderGeneration", func(t *testing.T) {
		s, stale := start(t)
		s.respec("a", "new")
		fresh := get[Run](t, s, "a")
		after := fresh.DeepCopy()
		after.Status.Phase = "Running"
		_, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), fresh, after, running)
		require.NoError(t, err)
		writes := s.writes

		late := stale.DeepCopy()
		late.Status.Phase = "Failed"
		_, err = via(client[Run]{s}.Patch, w).Commit(t.Context(), stale, late, done)
		require.ErrorIs(t, err, status.ErrSuperseded)
		assert.Equal(t, writes, s.writes)
	})
	t.Run("OfTheSameGeneration", func(t *testing.T) {
		s, stale := start(t)
		s.restatus("a", `{"phase":"Succeeded","finishedAt":"2025-06-01T12:00:00Z"}`)
		writes := s.writes

		late := stale.DeepCopy()
		late.Status.Phase = "Running"
		_, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), stale, late, running)
		require.ErrorIs(t, err, status.ErrFieldConflict, "a finished run must not run again by an old view")
		require.ErrorContains(t, err, "status.finishedAt")
		assert.Equal(t, writes, s.writes)
	})
}

func TestCommit_TwoControllersOwnDifferentConditions(t *testing.T) {
	s, before := start(t)
	mine := before.DeepCopy()
	status.SetCondition(&mine.Status.Conditions, cond("Ready", metav1.ConditionTrue, "Running"), noon)

	theirs := before.DeepCopy()
	status.SetCondition(&theirs.Status.Conditions, cond("Scheduled", metav1.ConditionTrue, "Bound"), noon)
	_, err := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Scheduled"}}).Commit(t.Context(), before, theirs, status.Facts{})
	require.NoError(t, err)

	result, err := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(t.Context(), before, mine, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	stored := get[Run](t, s, "a")
	require.Len(t, stored.Status.Conditions, 2)
	assert.Equal(t, metav1.ConditionTrue, stored.Status.Conditions[0].Status)
	assert.Equal(t, "Bound", stored.Status.Conditions[1].Reason)
	assert.Equal(t, stored.Status, mine.Status, "after holds what is stored, so that it can be the next before")
}

//req:shows S1
func TestCommit_StoredStatusOfANewerGeneration(t *testing.T) {
	s, _ := start(t)
	s.restatus("a", `{"observedGeneration":7}`)
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.ErrorIs(t, err, status.ErrSuperseded)
	require.ErrorContains(t, err, "7 is stored")
	assert.Zero(t, s.sent(), "not even asked")
}

func TestCommit_ConflictStorm(t *testing.T) {
	s, before := start(t)
	storm := func(conflicts int) {
		s.before = func(name string, data []byte) {
			if string(data) != "{}" && conflicts > 0 {
				conflicts--
				s.relabel(name, "beat", strings.Repeat("x", conflicts+1))
			}
		}
	}
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	storm(3)
	result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, 7, s.sent(), "three times a conflict and a read, then the write")
	stored := get[Run](t, s, "a")
	assert.Equal(t, "Running", stored.Status.Phase)
	assert.Equal(t, map[string]string{"beat": "x"}, stored.Labels, "the other writer's last word")

	after = stored.DeepCopy()
	after.Status.Phase = "Stopping"
	storm(100)
	s.sent()
	_, err = via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), stored, after, running)
	assert.True(t, apierrors.IsConflict(err), "a caller can tell that it is a conflict")
	assert.Equal(t, 9, s.sent(), "four conflicts are got over, the fifth is returned")
}

func TestCommit_APIServerDown(t *testing.T) {
	s, before := start(t)
	down := errors.New("connection refused")
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	kept := before.DeepCopy()
	_, err := via(patching(func([]byte, ...string) (*Run, error) { return nil, down }), status.Writer{}).Commit(t.Context(), before, after, running)
	require.ErrorIs(t, err, down)
	assert.Equal(t, kept, before, "before did not change")

	// Down while Commit resolves the conflict.
	s.respec("a", "new")
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(_ string, data []byte) {
		if string(data) == "{}" {
			cancel()
		}
	}
	after = before.DeepCopy()
	after.Status.Phase = "Running"
	_, err = via(client[Run]{s}.Patch, status.Writer{}).Commit(ctx, before, after, running)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, kept, before)
	s.before = nil

	// Nothing is lost: the next reconcile writes it.
	before = get[Run](t, s, "a")
	after = before.DeepCopy()
	after.Status.Phase = "Running"
	result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)

	// The request was done, and not answered. The next reconcile may start from
	// the same copy. It does not know whose write it sees.
	before = get[Run](t, s, "a")
	reconcile := func(patch patchFunc[*Run]) error {
		after := withPhase(before, "Stopping")
		_, err := via(patch, status.Writer{}).Commit(t.Context(), before, after, running)
		return err
	}
	err = reconcile(patching(func(data []byte, sub ...string) (*Run, error) {
		_, err := client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
		return nil, cmp.Or(err, down)
	}))
	require.ErrorIs(t, err, down)
	require.ErrorIs(t, reconcile(client[Run]{s}.Patch), status.ErrFieldConflict)
	before = get[Run](t, s, "a")
	require.NoError(t, reconcile(client[Run]{s}.Patch))
	assert.Equal(t, "Stopping", get[Run](t, s, "a").Status.Phase)
}

func TestCommit_StatusSubresourceAbsent(t *testing.T) {
	s, before := start(t)
	s.noStatus = true
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.ErrorContains(t, err, "no status subresource")
	assert.True(t, apierrors.IsNotFound(err))
}

func TestCommit_ObjectBeingDeleted(t *testing.T) {
	t.Run("GoneAfterTheRead", func(t *testing.T) {
		s, before := start(t)
		s.delete("a")
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Gone, result)
	})
	t.Run("GoneAfterAConflict", func(t *testing.T) {
		s, before := start(t)
		s.respec("a", "new")
		s.before = func(_ string, data []byte) {
			if string(data) == "{}" {
				s.delete("a")
			}
		}
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Gone, result)
	})
	t.Run("RecreatedWhileAsking", func(t *testing.T) {
		s, before := start(t)
		s.delete("a")
		s.before = func(_ string, data []byte) {
			if string(data) == "{}" {
				s.create("a")
			}
		}
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Gone, result)
		assert.Empty(t, get[Run](t, s, "a").Status)
	})
	t.Run("StillTerminating", func(t *testing.T) {
		s, before := start(t)
		before.DeletionTimestamp = at(0)
		after := before.DeepCopy()
		after.Status.Phase = "Stopping"
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Written, result, "a finalizer's progress is written")
	})
}
