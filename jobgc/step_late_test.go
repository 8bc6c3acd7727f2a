// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

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
