// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_LooksAgainAtAFinishBeforeItsEvent: the informer calls the handlers
// concurrently, so that the one that enqueues the run may be ahead.
func TestStep_LooksAgainAtAFinishBeforeItsEvent(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour}})
	s.step(t)
	s.deliver()
	s.step(t)
	before := s.store.items["ns/"+jobOfRun]
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	found := s.step(t) // the reconcile of that event
	s.guard.OnUpdate(before, s.store.items["ns/"+jobOfRun])
	assert.Equal(t, jobgc.Finished, found.State)
	assert.Positive(t, found.After, "the release is due, and no event follows")
}

// TestStep_ReleasesAnEndedRunAheadOfTheFirstList: the controller was killed
// between the record and the release.
func TestStep_ReleasesAnEndedRunAheadOfTheFirstList(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: hold})
	s.step(t)
	s.change(jobOfRun, finish(time.Now()))
	s.stored.done = true
	s.stored.job.Outcome = jobgc.Succeeded
	s.guard = newGuard(t, s.world, jobgc.Options{Finalizer: hold})
	s.store.unsynced = true
	found := s.step(t)
	require.Positive(t, found.After, "the first list has its Job")
	s.deliver()
	s.store.unsynced = false
	s.step(t)
	assert.Empty(t, s.jobs[jobOfRun].Finalizers)
	s.remove(jobOfRun)
	s.deliver()
	assert.Zero(t, s.step(t).After, "its Job is gone")
}

// TestStep_ManyEndedRunsDisplaceNoOther: after a restart each of them is
// reconciled, and its Job is gone. Meanwhile the Job of another run finishes
// and is gone, and its delete event is a moment late.
//
//req:shows J3 J4
func TestStep_ManyEndedRunsDisplaceNoOther(t *testing.T) {
	for name, outcome := range map[string]jobgc.Outcome{"Recorded": jobgc.Succeeded, "Cancelled": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				s.step(t)
				s.deliver()
				time.Sleep(time.Minute)
				for i := range 5000 {
					old := newAgentRun()
					old.Name, old.UID, old.done = fmt.Sprint("old", i), types.UID(fmt.Sprint("old", i)), true
					old.job = &jobgc.Ref{Namespace: "ns", Name: fmt.Sprint("run-old", i), UID: types.UID(fmt.Sprint("job", i)), Outcome: outcome}
					ref, found, err := s.guard.Step(t.Context(), s.request(old))
					require.NoError(t, err)
					require.Zero(t, found.After)
					require.True(t, ref.Released, "the next call costs no request")
				}
				before := s.store.items["ns/"+jobOfRun]
				last := s.change(jobOfRun, finish(time.Now()))
				s.remove(jobOfRun)
				s.store.sync(s.server)
				found := s.step(t)
				assert.Equal(t, jobgc.Pending, found.State, "%+v", found)
				s.guard.OnUpdate(before, last)
				s.guard.OnDelete(last)
				assert.Equal(t, jobgc.Finished, s.step(t).State)
			})
		})
	}
}

// TestStep_ACancelledRunComesToRest: it is not reconciled every ten seconds
// until it is deleted.
func TestStep_ACancelledRunComesToRest(t *testing.T) {
	for name, cached := range map[string]bool{"Cached": true, "NotInTheCache": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				s.step(t)
				s.deliver()
				s.edit = func(r *jobgc.Request) { r.Cancel = true }
				assert.Equal(t, jobgc.Cancelled, s.step(t).State)
				s.change(jobOfRun, func(job *batchv1.Job) {
					job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
				})
				s.store.items = map[string]*batchv1.Job{}
				if cached {
					s.deliver()
				}
				looks := 0
				for found := s.step(t); found.After > 0 && looks < 100; found = s.step(t) {
					looks++
					time.Sleep(found.After)
				}
				assert.Less(t, looks, 10)
				assert.Equal(t, cached, looks == 0, "without events, its last pod may still finish it")
			})
		})
	}
}

// TestStep_AHeldCancelledRunComesToRest: its Job has lost the finalizer of
// Options.Finalizer, and no annotation says so, because it has not finished.
func TestStep_AHeldCancelledRunComesToRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: hold})
		s.step(t)
		s.deliver()
		s.edit = func(r *jobgc.Request) { r.Cancel = true }
		assert.Equal(t, jobgc.Cancelled, s.step(t).State)
		s.change(jobOfRun, func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
		})
		s.stored.done = true
		for range 3 {
			s.deliver()
			s.step(t)
			time.Sleep(2 * time.Minute)
		}
		require.Empty(t, s.jobs[jobOfRun].Finalizers)
		reads := s.reads
		gets := s.gets
		s.step(t)
		assert.Equal(t, reads, s.reads, "reads of the owner")
		assert.Equal(t, gets, s.gets, "reads of the Job")
	})
}

// TestStep_LooksAtTheRunningJobOfAnEndedRun that the cache lacks: it is neither
// lost nor forgotten.
func TestStep_LooksAtTheRunningJobOfAnEndedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: hold})
		s.step(t)
		s.stored.done = true
		found := s.step(t)
		assert.Equal(t, jobgc.Pending, found.State)
		assert.Equal(t, time.Second, found.After)
		time.Sleep(found.After)
		found = s.step(t)
		assert.Equal(t, jobgc.Active, found.State)
		assert.Equal(t, 10*time.Second, found.After, "no event announces its end")
		s.change(jobOfRun, finish(time.Now()))
		time.Sleep(found.After)
		s.step(t)
		assert.Empty(t, s.jobs[jobOfRun].Finalizers)
	})
}

// TestStep_ADeletingOwnerIsToldOfNoLossTooEarly: its own finalizer waits for
// the result.
//
//req:shows J3 J4
func TestStep_ADeletingOwnerIsToldOfNoLossTooEarly(t *testing.T) {
	t.Run("NotInTheCacheYet", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.stored.DeletionTimestamp = ptr.To(metav1.Now())
		found := s.step(t)
		require.NotNil(t, s.jobs[jobOfRun], "it runs")
		assert.False(t, found.Lost(), "%+v", found)
	})
	t.Run("HasJustGone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.deliver()
			time.Sleep(time.Minute)
			s.stored.DeletionTimestamp = ptr.To(metav1.Now())
			s.change(jobOfRun, finish(time.Now()))
			last := s.remove(jobOfRun)
			s.store.sync(s.server)
			found := s.step(t)
			assert.Equal(t, jobgc.Pending, found.State, "%+v", found)
			s.guard.OnDelete(last)
			assert.Equal(t, jobgc.Finished, s.step(t).State)
		})
	})
}

// TestStep_ALateOwnerOfAReleasedJob: another replica has recorded the outcome
// and has released the Job, which is gone.
//
//req:shows J3
func TestStep_ALateOwnerOfAReleasedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Second, UnrecordedTTL: week}})
		s.step(t)
		late := &agentRun{ObjectMeta: s.stored.ObjectMeta, job: s.stored.job}
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		s.step(t) // record
		s.step(t) // release
		s.guard = newGuard(t, s.world, jobgc.Options{})
		s.deliver()
		s.remove(jobOfRun)
		s.deliver()
		for _, tc := range []struct {
			reason  string
			after   time.Duration
			state   jobgc.State
			outcome jobgc.Outcome
		}{
			{"Only a recorded Job is released: the owner's cache is late.", 0, jobgc.Pending, ""},
			{"It may take a few seconds.", 2 * time.Second, jobgc.Pending, ""},
			{"The owner was restored from a backup, for example: the result counts.", time.Hour, jobgc.Finished, jobgc.Succeeded},
		} {
			time.Sleep(tc.after)
			_, found, err := s.guard.Step(t.Context(), s.request(late))
			require.NoError(t, err)
			assert.Equal(t, tc.state, found.State, tc.reason)
			assert.Equal(t, tc.outcome, found.Outcome, tc.reason)
			assert.Equal(t, tc.state == jobgc.Pending, found.Reason == "OwnerChanged", tc.reason)
			assert.Equal(t, tc.state == jobgc.Pending, found.After > 0, tc.reason)
		}
		assert.Equal(t, jobgc.Collected, s.step(t).State)
	})
}

// TestStep_ACancelledJobThatCompletesAfterItsRelease gets its final TTL: its
// last pod had succeeded before it was stopped.
func TestStep_ACancelledJobThatCompletesAfterItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: hold, Retention: jobgc.Retention{SucceededTTL: time.Hour}})
		s.step(t)
		s.deliver()
		s.edit = func(req *jobgc.Request) { req.Cancel = true }
		assert.Equal(t, jobgc.Cancelled, s.step(t).State)
		s.deliver()
		s.step(t)
		require.Empty(t, s.jobs[jobOfRun].Finalizers, "released")
		s.deliver()
		time.Sleep(time.Second)
		s.change(jobOfRun, finish(time.Now()))
		s.deliver()
		found := s.step(t)
		if found.After > 0 {
			time.Sleep(found.After)
			s.step(t)
		}
		assert.NotNil(t, s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
	})
}

// TestStep_ACancelledRunKeepsItsEnd: the Job finishes after the cancellation
// was recorded, and before the cache shows the suspension.
func TestStep_ACancelledRunKeepsItsEnd(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.deliver()
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	s.stored.done = true // Cancelled
	s.change(jobOfRun, finish(time.Now()))
	s.step(t)
	s.deliver()
	s.step(t)
	assert.Empty(t, s.stored.job.Outcome)
}
