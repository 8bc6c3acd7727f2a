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

// recorded makes a request of a caller whose status says when it was recorded.
func recorded(req *jobgc.Request) {
	run, ok := req.Owner.(*agentRun)
	if ok {
		req.RecordedAt = run.recordedAt
	}
}

// restored is a stage whose store went back to the time when the Job ran. The
// caller's cache has the owner as it was before: final, and its Job was
// released.
type restored struct {
	*stage
	late *agentRun // the caller's copy
}

// restore makes one. Events report what happened to the Job, unless the Guard
// only released it.
func restore(t *testing.T, opts jobgc.Options, know func(s *stage, backup *batchv1.Job)) *restored {
	t.Helper()
	opts.Retention.SucceededTTL = time.Hour
	opts.Retention.UnrecordedTTL = week
	s := newStage(t, opts)
	s.edit = recorded
	s.step(t)
	s.store.sync(s.server)
	s.guard.OnAdd(s.jobs[jobOfRun].DeepCopy(), true)
	s.change(jobOfRun, func(job *batchv1.Job) { finish(time.Now())(job); job.Status.Conditions = nil })
	backup, ran := s.jobs[jobOfRun].DeepCopy(), &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job.DeepCopy()}
	s.change(jobOfRun, finish(time.Now()))
	s.store.sync(s.server)
	s.step(t) // record
	reads := s.reads
	s.step(t) // release
	require.Equal(t, 1, s.patches, "released")
	require.Equal(t, reads, s.reads, "without a read of a final owner")
	s.store.sync(s.server)
	late := s.stored
	s.stored = ran
	time.Sleep(time.Minute)
	know(s, backup.DeepCopy())
	s.jobs[jobOfRun] = backup
	s.store.sync(s.server)
	return &restored{s, late}
}

// ways are how a Guard learns that the store went back.
func ways() map[string]func(*stage, *batchv1.Job) {
	return map[string]func(*stage, *batchv1.Job){
		"SeenDeleted": func(s *stage, backup *batchv1.Job) {
			s.guard.OnDelete(s.remove(jobOfRun))
			s.guard.OnAdd(backup, false)
		},
		"DeletedBeforeItsEvent": func(s *stage, _ *batchv1.Job) { s.guard.OnDelete(s.remove(jobOfRun)) },
		"OlderVersion":          func(s *stage, backup *batchv1.Job) { s.guard.OnUpdate(s.jobs[jobOfRun].DeepCopy(), backup) },
		"Replaced": func(s *stage, backup *batchv1.Job) {
			other := backup.DeepCopy()
			other.UID = "other"
			s.guard.OnUpdate(s.jobs[jobOfRun].DeepCopy(), other)
			s.guard.OnUpdate(other, backup)
		},
	}
}

// TestStepRestored_BelievesNoCachedOwner: the Job is there again, and runs. Its
// owner waits for its result, although the cache calls it final.
func TestStepRestored_BelievesNoCachedOwner(t *testing.T) {
	for name, know := range ways() {
		for kind, edit := range map[string]func(*agentRun){
			"Recorded": func(*agentRun) {},
			"Released": func(r *agentRun) { r.job.Released = true },
		} {
			t.Run(name+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := restore(t, jobgc.Options{}, know)
					edit(s.late)
					for _, change := range []func(*batchv1.Job){func(*batchv1.Job) {}, finish(time.Now())} {
						s.change(jobOfRun, change)
						s.store.sync(s.server)
						reads := s.reads
						ref, found, err := s.guard.Step(t.Context(), s.request(s.late))
						require.NoError(t, err)
						assert.Same(t, s.late.job, ref)
						assert.Equal(t, jobgc.Pending, found.State)
						assert.Equal(t, "OwnerChanged", found.Reason)
						assert.Equal(t, 10*time.Second, found.After, "no event may come")
						assert.Equal(t, 1, s.reads-reads)
						assert.Equal(t, 1, s.patches, "the Job is not released")
					}
					assert.Equal(t, jobgc.Finished, s.step(t).State, "the cache has the stored owner")
					assert.Equal(t, jobgc.Succeeded, s.stored.job.Outcome)
					s.step(t)
					assert.Equal(t, 2, s.patches, "and releases the Job")
				})
			})
		}
	}
}

// TestStepRestored_CancelsNothingForACachedOwner: the cancellation is gone.
func TestStepRestored_CancelsNothingForACachedOwner(t *testing.T) {
	for name, know := range ways() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := restore(t, jobgc.Options{DeleteCancelled: true}, know)
				for _, done := range []bool{false, true} {
					late := &agentRun{ObjectMeta: s.late.ObjectMeta, job: s.stored.job.DeepCopy(), done: done}
					late.Generation = 2
					s.edit = func(req *jobgc.Request) { recorded(req); req.Cancel = true }
					_, found, err := s.guard.Step(t.Context(), s.request(late))
					require.NoError(t, err)
					assert.Equal(t, jobgc.Pending, found.State)
					assert.Equal(t, 1, s.patches, "the Job is not suspended")
				}
			})
		})
	}
}

// TestStepRestored_ReadsOnceIfTheOwnerIsAsCached: the Job alone went back.
func TestStepRestored_ReadsOnceIfTheOwnerIsAsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := restore(t, jobgc.Options{}, ways()["SeenDeleted"])
		s.late.job.Released = true
		s.stored = s.late
		reads := s.reads
		for range 3 {
			assert.Equal(t, jobgc.Collected, s.step(t).State)
		}
		assert.Equal(t, 1, s.reads-reads)
	})
}

// TestStepRestored_ReadsBeforeASecondRelease: nothing but the Job, which has to
// be released again, shows that the store went back.
func TestStepRestored_ReadsBeforeASecondRelease(t *testing.T) {
	for name, informer := range map[string]bool{"Informer": true, "NoInformer": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}}
				s := newStage(t, opts)
				s.edit = recorded
				if !informer {
					g, err := jobgc.NewUncached(s.client, opts)
					require.NoError(t, err)
					s.guard = g
				}
				s.step(t)
				ran := &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job.DeepCopy()}
				s.change(jobOfRun, finish(time.Now()))
				backup := s.jobs[jobOfRun].DeepCopy()
				s.store.sync(s.server)
				s.step(t) // record
				s.step(t) // release
				late := s.stored
				s.stored = ran
				s.put(backup)
				s.store.sync(s.server)
				time.Sleep(time.Minute)
				_, _, err := s.guard.Step(t.Context(), s.request(late))
				require.NoError(t, err)
				assert.Equal(t, 1, s.patches, "the restored owner waits for the result")
			})
		})
	}
}

// TestStepRestored_BelievesNoOwnerAfterAMinute: a Job that was never released
// does not show that the store went back.
func TestStepRestored_BelievesNoOwnerAfterAMinute(t *testing.T) {
	for wait, reads := range map[time.Duration]int{59 * time.Second: 0, time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
			s.edit = recorded
			s.step(t)
			s.change(jobOfRun, finish(time.Now()))
			s.store.sync(s.server)
			s.step(t) // record
			before := s.reads
			time.Sleep(wait)
			s.step(t)
			assert.Equal(t, 1, s.patches)
			assert.Equal(t, reads, s.reads-before, wait)
		})
	}
}

// TestStepRestored_ForgetsTheFirstLife: the Job runs again and fails, and is
// deleted before its result is read.
func TestStepRestored_ForgetsTheFirstLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := restore(t, jobgc.Options{}, ways()["SeenDeleted"])
		assert.Equal(t, jobgc.Active, s.step(t).State)
		s.change(jobOfRun, func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobFailed, time.Now())}
		})
		s.guard.OnDelete(s.remove(jobOfRun))
		s.store.sync(s.server)
		assert.Equal(t, jobgc.Failed, s.step(t).Outcome)
	})
}

// TestStep_BelievesTheTimeThatAnotherReplicaRecorded: the standby has been
// there all along. It needs no read of each run that ended a moment ago.
func TestStep_BelievesTheTimeThatAnotherReplicaRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}}
		s := newStage(t, opts)
		s.edit = recorded
		standby := &world{server: s.server, store: &fakeStore{}}
		standby.guard = newGuard(t, standby, opts)
		s.step(t)
		time.Sleep(time.Second)
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		standby.store.sync(s.server)
		s.step(t) // record
		reads := s.reads
		_, _, err := standby.guard.Step(t.Context(), s.request(s.stored))
		require.NoError(t, err)
		assert.Equal(t, 1, s.patches, "released")
		assert.Equal(t, reads, s.reads)
	})
}
