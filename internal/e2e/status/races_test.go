// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/status/kinds"
	"github.com/proompteng/controllerkit/status"
)

// The races: another client writes between the read and the write.

// writer is the recommended writer.
type writer = status.Writer

//req:shows S1
func TestSpecChangedMidReconcile(t *testing.T) {
	s := newStage(t)
	before := s.reconciled(t, "a")
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	setCondition(after, "Ready", metav1.ConditionTrue, "Running")
	s.respec(t, "a", "new")

	result, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Merged, result)

	stored := s.read(t, "a")
	assert.EqualValues(t, 2, stored.Generation)
	assert.Equal(t, "Running", stored.Status.Phase, "the verdict on the old spec is written")
	assert.EqualValues(t, 1, stored.Status.ObservedGeneration, "but not as one on the new spec")
	assert.EqualValues(t, 1, condition(stored, "Ready").ObservedGeneration, "nor does the condition claim that")
	assert.EqualValues(t, 1, after.Generation, "the server's reply does not move what was read")
	assert.Empty(t, after.Spec.Image)
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "so that a later Update of the old spec conflicts")

	next := stored.DeepCopy()
	_, err = via(s.ours.probes.Patch, writer{}).Commit(t.Context(), stored, next, running)
	require.NoError(t, err)
	assert.EqualValues(t, 2, s.read(t, "a").Status.ObservedGeneration, "the reconcile of the new spec claims it")
}

func TestObjectRecreatedMidReconcile(t *testing.T) {
	cases := map[string]struct {
		reason string
		at     int // the request before which it happens
	}{
		"BeforeTheWrite":      {"The pinned version does not belong to the new object.", 0},
		"WhileItReads":        {"The read after a conflict may return the new object.", 1},
		"BeforeTheMergeIsSet": {"A merge with the old object must not reach the new one.", 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			before := s.reconciled(t, "a")
			after := before.DeepCopy()
			after.Status.Phase = "Succeeded"
			if tc.at > 0 {
				s.respec(t, "a", "new")
			}
			var recreated *kinds.Probe
			requests := 0
			c := meddled(s.ours.probes.Patch, func(string) {
				if requests == tc.at {
					recreated = s.recreate(t, "a")
				}
				requests++
			})
			_, err := via(c, writer{}).Commit(t.Context(), before, after, done)
			require.ErrorIs(t, err, status.ErrReplaced, tc.reason)
			assert.Contains(t, err.Error(), string(before.UID))
			assert.Equal(t, recreated, s.read(t, "a"), "nothing is written on it")
		})
	}
}

func TestStaleCacheReadThenWrite(t *testing.T) {
	t.Run("OfAnOlderGeneration", func(t *testing.T) {
		s := newStage(t)
		stale := s.reconciled(t, "a")
		fresh := s.respec(t, "a", "new")
		after := fresh.DeepCopy()
		after.Status.Phase = "Running"
		_, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), fresh, after, running)
		require.NoError(t, err)
		stored := s.read(t, "a")

		late := stale.DeepCopy()
		late.Status.Phase = "Failed"
		_, err = via(s.ours.probes.Patch, writer{}).Commit(t.Context(), stale, late, done)
		require.ErrorIs(t, err, status.ErrSuperseded)
		assert.Equal(t, stored, s.read(t, "a"))
	})
	t.Run("OfTheSameGeneration", func(t *testing.T) {
		s := newStage(t)
		stale := s.reconciled(t, "a")
		stored := s.restatus(t, "a", `{"phase":"Succeeded","finishedAt":"2025-06-01T12:00:00Z"}`)

		late := stale.DeepCopy()
		late.Status.Phase = "Running"
		_, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), stale, late, running)
		require.ErrorIs(t, err, status.ErrFieldConflict, "a finished object must not run again by an old view")
		require.ErrorContains(t, err, "status.phase")
		assert.Equal(t, stored, s.read(t, "a"))
	})
	t.Run("TheSameVerdictTwice", func(t *testing.T) {
		s := newStage(t)
		stale := s.reconciled(t, "a")
		for i, want := range []status.Result{status.Written, status.Unchanged} {
			after := stale.DeepCopy()
			after.Status.Phase = "Running"
			result, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), stale, after, running)
			require.NoError(t, err)
			assert.Equal(t, want, result, "write %d", i)
			sameStatus(t, s.read(t, "a"), after)
		}
	})
}

func TestTwoControllersOwnDifferentConditions(t *testing.T) {
	const rounds = 40
	s := newStage(t)
	s.create(t, "a")
	said := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, own := range []string{"Ready", "Scheduled"} {
		wg.Go(func() {
			w := writer{Owned: []string{own}, Retries: 100}
			for i := range rounds {
				before := s.read(t, "a")
				after := before.DeepCopy()
				message := fmt.Sprint("round ", i)
				status.SetCondition(&after.Status.Conditions, metav1.Condition{
					Type: own, Status: metav1.ConditionTrue, Reason: "Ok", Message: message,
				}, before.CreationTimestamp.Time)
				_, err := via(s.ours.probes.Patch, w).Commit(t.Context(), before, after, running)
				if err != nil {
					t.Error(own, err)
					return
				}
				assert.Equal(t, message, condition(s.read(t, "a"), own).Message, "the other one lost it")
				mu.Lock()
				said[own] = message
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	stored := s.read(t, "a")
	for own, message := range said {
		assert.Equal(t, message, condition(stored, own).Message)
	}
	assert.Len(t, stored.Status.Conditions, 2)
	assert.Equal(t, fmt.Sprint("round ", rounds-1), said["Ready"])
}

//req:shows S1
func TestStoredStatusOfANewerGeneration(t *testing.T) {
	t.Run("AsItWasRead", func(t *testing.T) {
		s := newStage(t)
		s.reconciled(t, "a")
		before := s.restatus(t, "a", `{"observedGeneration":7}`) // a backup, restored onto a new object
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		_, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), before, after, running)
		require.ErrorIs(t, err, status.ErrSuperseded)
		assert.Empty(t, s.wire.sent(), "not even asked")
		assert.Equal(t, before, s.read(t, "a"))
	})
	t.Run("WrittenMeanwhile", func(t *testing.T) {
		s := newStage(t)
		before := s.reconciled(t, "a")
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		s.respec(t, "a", "new")
		var newer *kinds.Probe
		c := meddled(s.ours.probes.Patch, func(string) {
			if newer == nil {
				newer = s.restatus(t, "a", `{"observedGeneration":2}`)
			}
		})
		_, err := via(c, writer{}).Commit(t.Context(), before, after, running)
		require.ErrorIs(t, err, status.ErrSuperseded)
		assert.Equal(t, newer, s.read(t, "a"))
	})
}

func TestConflictStorm(t *testing.T) {
	s := newStage(t)
	before := s.reconciled(t, "a")
	beat := 0
	storm := func(conflicts int) patchFunc[*kinds.Probe] {
		return meddled(s.ours.probes.Patch, func(patch string) {
			if patch != "{}" && conflicts > 0 {
				conflicts--
				beat++
				s.restatus(t, "a", fmt.Sprintf(`{"steps":["%d"]}`, beat))
			}
		})
	}
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	read := before.DeepCopy()
	result, err := via(storm(3), writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, read, before, "the informer's copy is nobody's to change")
	assert.Equal(t, status.Merged, result)
	assert.Len(t, s.wire.sent(), 7, "three times a conflict and a read, then the write")
	stored := s.read(t, "a")
	assert.Equal(t, "Running", stored.Status.Phase)
	assert.Equal(t, []string{"3"}, stored.Status.Steps, "the other writer's last word")
	sameStatus(t, stored, after)

	cases := map[string]struct {
		reason   string
		retries  int
		requests int
	}{
		"Default": {"Four conflicts are retried, the fifth is returned.", 0, 9},
		"One":     {"One retry means two writes.", 1, 3},
		"Never":   {"A negative number leaves the conflict to the caller.", -1, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := s.read(t, "a")
			after := before.DeepCopy()
			after.Status.Phase = "Stopping"
			_, err := via(storm(100), writer{Retries: tc.retries}).Commit(t.Context(), before, after, running)
			require.Error(t, err)
			assert.True(t, apierrors.IsConflict(err), "a caller can tell that it is a conflict: %v", err)
			assert.Len(t, s.wire.sent(), tc.requests, tc.reason)
			assert.Equal(t, "Running", s.read(t, "a").Status.Phase)
		})
	}
}
