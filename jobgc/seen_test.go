// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/proompteng/controllerkit/jobgc"
)

// finished finishes the Job of the run and shows it to the handler.
func (s *stage) finished() *batchv1.Job {
	before := s.jobs[jobOfRun]
	last := s.change(jobOfRun, finish(time.Now()))
	s.guard.OnUpdate(before, last)
	return last
}

// deletedUnseen deletes the Job of the run, before a call of Step sees that it
// has finished.
func deletedUnseen(t *testing.T, s *stage) {
	t.Helper()
	last := s.finished()
	s.remove(jobOfRun)
	s.store.sync(s.server)
	s.guard.OnDelete(last)
}

// TestStep_DoesNotCreateAJobAgainThatItSawFinish: the Ref is not written yet,
// and the Job is gone.
//
//req:shows J3
func TestStep_DoesNotCreateAJobAgainThatItSawFinish(t *testing.T) {
	week := jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}}
	for name, tc := range map[string]struct {
		reason string
		goes   func(t *testing.T, s *stage)
		gets   int
	}{
		"DeleteEvent": {
			"The delete event has the result.", deletedUnseen, 1,
		},
		"MissedDeleteEvent": {
			"A finish in a stale last state is a finish.",
			func(_ *testing.T, s *stage) {
				last := s.finished()
				s.remove(jobOfRun)
				s.store.sync(s.server)
				s.guard.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/" + jobOfRun, Obj: last})
			}, 1,
		},
		"EarlierCall": {
			"Step itself saw the result, and the write failed. The API server says that the Job is gone.",
			func(t *testing.T, s *stage) {
				t.Helper()
				s.finished()
				s.store.sync(s.server)
				_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
				require.NoError(t, err)
				require.Equal(t, jobgc.Succeeded, found.Outcome)
				s.remove(jobOfRun)
				s.store.sync(s.server)
			}, 1,
		},
		"DuringTheReadOfTheOwner": {
			"The delete event comes after the look into the cache.",
			func(_ *testing.T, s *stage) {
				last := s.finished()
				s.remove(jobOfRun)
				s.store.sync(s.server)
				s.edit = func(req *jobgc.Request) {
					stored := req.Stored
					req.Stored = func(ctx context.Context) (metav1.Object, *jobgc.Ref, bool, error) {
						s.guard.OnDelete(last)
						return stored(ctx)
					}
				}
				s.guard = newGuard(t, s.world, week) // it has not created the Job
			}, 1,
		},
		"DeletedWhileFinishing": {
			"A Job whose outcome is announced has that outcome.",
			func(_ *testing.T, s *stage) {
				last := s.change(jobOfRun, func(job *batchv1.Job) {
					job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuccessCriteriaMet, time.Now())}
				})
				s.remove(jobOfRun)
				s.store.sync(s.server)
				s.guard.OnDelete(last)
			}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, week)
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.NoError(t, err)
			s.guard.OnAdd(s.jobs[jobOfRun], false)
			tc.goes(t, s)
			found := s.step(t)
			assert.Equal(t, 1, s.creates, tc.reason)
			assert.Equal(t, tc.gets, s.gets, tc.reason)
			assert.Equal(t, jobgc.Finished, found.State)
			assert.Equal(t, jobgc.Succeeded, found.Outcome)
			require.NotNil(t, s.stored.job)
			want := jobgc.Ref{Namespace: "ns", Name: jobOfRun, UID: "uid-1", Outcome: jobgc.Succeeded, Released: true}
			assert.Equal(t, want.Name, s.stored.job.Name)
			assert.Equal(t, want.UID, s.stored.job.UID)
			assert.Equal(t, want.Outcome, s.stored.job.Outcome)
			assert.True(t, s.stored.job.Released, "nothing is left to release")
			assert.Zero(t, s.patches)
			requests := s.requests()
			s.edit = nil
			assert.Equal(t, jobgc.Collected, s.step(t).State)
			assert.Equal(t, requests, s.requests())
		})
	}
}

// TestStep_BelievesTheJobThatExists more than what it has seen before: another
// replica may have created it.
func TestStep_BelievesTheJobThatExists(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	deletedUnseen(t, s)
	next := ownedJob()
	next.Name, next.Namespace, next.UID = jobOfRun, "ns", "of-another-replica"
	s.put(next)
	s.store.sync(s.server)
	s.step(t)
	assert.Equal(t, types.UID("of-another-replica"), s.stored.job.UID)
	assert.Empty(t, s.stored.job.Outcome)
}

// TestStep_RemembersEachOwnerAlone: an owner that was deleted and created again
// under its name has a run of its own.
func TestStep_RemembersEachOwnerAlone(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	last := s.finished().DeepCopy()
	s.remove(jobOfRun)
	s.store.sync(s.server)
	last.OwnerReferences[0].UID = "another"
	s.guard.OnDelete(last)
	g := newGuard(t, s.world, jobgc.Options{})
	g.OnDelete(last)
	s.guard = g
	s.step(t)
	assert.Equal(t, 2, s.creates)
}
