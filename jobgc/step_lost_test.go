// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// replaced is another Job of the same name.
func replaced(job *batchv1.Job) { job.UID = "another" }

func deleting(job *batchv1.Job) {
	job.DeletionTimestamp = ptr.To(metav1.Now())
	job.Finalizers = []string{"example.com/keeps"}
}

// TestStep_SaysLostForTheStoredOwnerOnly: the caller's copy is late. The first
// loss of a Ref costs a live read of the owner.
func TestStep_SaysLostForTheStoredOwnerOnly(t *testing.T) {
	for kind, change := range map[jobgc.State]func(*batchv1.Job){
		jobgc.Missing: nil, jobgc.Replaced: replaced, jobgc.Deleting: deleting,
	} {
		for name, tc := range map[string]struct {
			reason string
			stored func(*agentRun) *agentRun
			lost   bool
		}{
			"AsTheCopy": {"No replica has recorded an outcome.", func(r *agentRun) *agentRun { return r }, true},
			"Annotated": {"Another generation does not concern the loss.", func(r *agentRun) *agentRun { r.Generation++; return r }, true},
			"Deleted":   {"It still waits for the outcome.", func(r *agentRun) *agentRun { r.DeletionTimestamp = ptr.To(metav1.Now()); return r }, true},
			"Recorded":  {"Another replica has recorded the outcome.", func(r *agentRun) *agentRun { r.job.Outcome = jobgc.Succeeded; return r }, false},
			"Done":      {"Another replica has recorded the end.", func(r *agentRun) *agentRun { r.done = true; return r }, false},
			"NotYet":    {"The store was restored.", func(r *agentRun) *agentRun { r.job = nil; return r }, false},
			"OtherJob":  {"Another Job is recorded.", func(r *agentRun) *agentRun { r.job.UID = "other"; return r }, false},
			"Recreated": {"The stored owner has another uid.", func(r *agentRun) *agentRun { r.UID = "other"; return r }, false},
			"OwnerGone": {"The owner is gone.", func(*agentRun) *agentRun { return nil }, false},
		} {
			t.Run(string(kind)+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t, jobgc.Options{})
					s.step(t)
					s.store.sync(s.server)
					if change == nil {
						s.remove(jobOfRun)
					} else {
						s.change(jobOfRun, change)
					}
					s.deliver()
					late := &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job.DeepCopy()}
					s.stored = tc.stored(s.stored)
					reads := s.reads
					ref, found, err := s.guard.Step(t.Context(), s.request(late))
					require.NoError(t, err)
					assert.Equal(t, tc.lost, found.Lost(), "%s %+v", tc.reason, found)
					assert.Equal(t, 1, s.reads-reads)
					assert.Same(t, late.job, ref)
					if !tc.lost {
						assert.Equal(t, jobgc.Pending, found.State, tc.reason)
						assert.Equal(t, "OwnerChanged", found.Reason)
						assert.Positive(t, found.After)
						return
					}
					assert.Equal(t, kind, found.State)
					_, found, err = s.guard.Step(t.Context(), s.request(late))
					require.NoError(t, err)
					assert.True(t, found.Lost())
					assert.Equal(t, 1, s.reads-reads, "once for each Ref")
				})
			})
		}
	}
}

// TestStep_ReadsTheOwnerAgainForAnotherLoss: a Job that a finalizer keeps can
// still finish while it is being deleted.
func TestStep_ReadsTheOwnerAgainForAnotherLoss(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.change(jobOfRun, deleting)
	s.store.sync(s.server)
	late := &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job.DeepCopy()}
	_, found, err := s.guard.Step(t.Context(), s.request(late))
	require.NoError(t, err)
	require.Equal(t, jobgc.Deleting, found.State)
	s.stored.job.Outcome, s.stored.done = jobgc.Succeeded, true // of another replica
	s.remove(jobOfRun)
	s.store.sync(s.server)
	_, found, err = s.guard.Step(t.Context(), s.request(late))
	require.NoError(t, err)
	assert.False(t, found.Lost(), "%+v", found)
}

// TestStep_ReadsTheOwnerBeforeItCancelsALostJob: the outcome may be stored.
func TestStep_ReadsTheOwnerBeforeItCancelsALostJob(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.remove(jobOfRun)
	s.store.sync(s.server)
	late := &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job.DeepCopy()}
	s.stored.job.Outcome, s.stored.done = jobgc.Succeeded, true
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	_, found, err := s.guard.Step(t.Context(), s.request(late))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Pending, found.State)
}
