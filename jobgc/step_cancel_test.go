// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

func TestStepSuspends(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	want := true
	s.edit = func(req *jobgc.Request) { req.Suspend = &want }
	s.step(t)
	assert.True(t, *s.jobs[jobOfRun].Spec.Suspend, "from the creation on")
	s.store.sync(s.server)
	want = false
	assert.Equal(t, jobgc.Active, s.step(t).State)
	assert.False(t, *s.jobs[jobOfRun].Spec.Suspend)
	s.store.sync(s.server)
	s.edit = nil
	s.change(jobOfRun, func(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) })
	s.store.sync(s.server)
	s.step(t)
	assert.Equal(t, 1, s.patches, "a queue of Jobs decides")

	// The name is another Job's by now.
	want = false
	s.edit = func(req *jobgc.Request) { req.Suspend = &want }
	s.change(jobOfRun, func(job *batchv1.Job) { job.UID = "another" })
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.Error(t, err, "the patch tests the uid")
	assert.True(t, *s.jobs[jobOfRun].Spec.Suspend)
}

// TestStepSuspends_NothingByAnOldSpec: replica A has cancelled the run, or has
// changed its Job for the newest spec. Replica B sees the Job, and its copy of
// the owner is late.
func TestStepSuspends_NothingByAnOldSpec(t *testing.T) {
	for name, c := range map[string]struct {
		old bool
		now func(*jobgc.Request)
	}{
		"Cancelled": {false, func(r *jobgc.Request) { r.Suspend, r.Cancel = ptr.To(false), true }},
		"Suspended": {false, func(r *jobgc.Request) { r.Suspend = ptr.To(true) }},
		"Resumed":   {true, func(r *jobgc.Request) { r.Suspend = ptr.To(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			before := func(r *jobgc.Request) { r.Suspend = &c.old }
			s.edit = before
			s.step(t)
			s.store.sync(s.server)
			late := &agentRun{ObjectMeta: *s.stored.DeepCopy(), job: s.stored.job}
			s.stored.Generation++
			s.edit = c.now
			s.step(t)
			s.store.sync(s.server)
			want := *s.jobs[jobOfRun].Spec.Suspend
			require.NotEqual(t, want, c.old)

			s.edit = before
			_, _, err := newGuard(t, s.world, jobgc.Options{}).Step(t.Context(), s.request(late))
			require.NoError(t, err)
			assert.Equal(t, want, *s.jobs[jobOfRun].Spec.Suspend)
		})
	}
}

func TestStepCancels(t *testing.T) {
	cancel := func(req *jobgc.Request) { req.Cancel = true }
	t.Run("RecordedAndCreatedAgain", func(t *testing.T) {
		s := newStage(t, jobgc.Options{})
		s.step(t)
		s.store.sync(s.server)
		s.stored.job, s.stored.done, s.edit = nil, true, cancel
		found := s.step(t)
		assert.Equal(t, jobgc.Cancelled, found.State)
		assert.Equal(t, []int{1, 0, 1, 1}, s.requests(), "no live read: the Job was in the cache")
	})
	t.Run("NoVerb", func(t *testing.T) {
		s := newStage(t, jobgc.Options{DeleteCancelled: true})
		s.step(t)
		s.store.sync(s.server)
		s.edit = cancel
		s.step(t)
		s.store.sync(s.server)
		_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
		require.ErrorContains(t, err, "Options.DeleteCancelled: the client of namespace ns cannot delete Jobs")
	})
}

type deletingJobs struct {
	fakeJobs
	err     error
	deleted *int // nil: not counted
}

func (d deletingJobs) Delete(context.Context, string, metav1.DeleteOptions) error {
	if d.deleted != nil {
		*d.deleted++
	}
	return d.err
}

// TestStep_DeleteRefusedWithAConflict that is not about the uid: a proxy's, or
// that of a webhook. Step returns it, so that the next reconcile tries again.
func TestStep_DeleteRefusedWithAConflict(t *testing.T) {
	for name, refusal := range map[string]error{
		"Proxy":   apierrors.NewGenericServerResponse(409, "delete", jobResource, jobOfRun, "busy", 0, true),
		"Webhook": &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 409, Reason: metav1.StatusReasonConflict, Message: "admission webhook \"x\" denied the request: a backup runs"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			g, err := jobgc.New(func(ns string) deletingJobs { return deletingJobs{s.client(ns), refusal, nil} }, s.store.get, s.store, jobgc.Options{DeleteCancelled: true})
			require.NoError(t, err)
			step := func() (jobgc.Observation, error) {
				ref, found, err := g.Step(t.Context(), s.request(s.stored))
				if err == nil {
					s.stored.job = ref
					s.stored.done = s.stored.done || found.State == jobgc.Cancelled
				}
				return found, err
			}
			_, err = step()
			require.NoError(t, err)
			s.store.sync(s.server)
			s.edit = func(req *jobgc.Request) { req.Cancel = true }
			_, err = step()
			require.NoError(t, err)
			s.store.sync(s.server)
			found, err := step()
			assert.True(t, err != nil || found.After > 0, "the Job exists, and nothing tries again: %+v %v", found.State, err)
		})
	}
}

// TestStep_ActsOnItsJobBeforeTheFirstRef: the caller waits with the first Ref
// until the Job has started, which a suspended Job never does. With an informer
// the Job is in the cache, and without one its creation finds it.
func TestStep_ActsOnItsJobBeforeTheFirstRef(t *testing.T) {
	suspended := func(job *batchv1.Job) {
		job.Spec.Suspend = ptr.To(true)
		job.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
	}
	for name, tc := range map[string]struct {
		reason  string
		change  func(*batchv1.Job) // after the creation; nil changes nothing
		ask     func(*jobgc.Request)
		want    jobgc.State
		suspend bool // of the Job, in the end
	}{
		"Resume":        {"It would stay suspended.", suspended, func(r *jobgc.Request) { r.Suspend = ptr.To(false) }, jobgc.Suspended, false},
		"Suspend":       {"It would start.", nil, func(r *jobgc.Request) { r.Suspend = ptr.To(true) }, jobgc.Suspended, true},
		"Cancel":        {"It would start.", nil, func(r *jobgc.Request) { r.Cancel = true }, jobgc.Cancelled, true},
		"CancelQueued":  {"A queue would start it.", suspended, func(r *jobgc.Request) { r.Cancel = true }, jobgc.Cancelled, true},
		"CancelTooLate": {"It has an outcome.", finish(time.Now()), func(r *jobgc.Request) { r.Cancel = true }, jobgc.Finished, false},
		"Neither":       {"A queue decides.", suspended, func(*jobgc.Request) {}, jobgc.Suspended, true},
	} {
		for _, informer := range []bool{true, false} {
			t.Run(fmt.Sprint(name, informer), func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				if !informer {
					g, err := jobgc.NewUncached(s.client, jobgc.Options{})
					require.NoError(t, err)
					s.guard = g
				}
				s.step(t)
				s.stored.job = nil // the caller waits
				if tc.change != nil {
					s.change(jobOfRun, tc.change)
				}
				s.store.sync(s.server)
				s.edit = tc.ask
				ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
				require.NoError(t, err)
				assert.Equal(t, tc.want, found.State, tc.reason)
				assert.Equal(t, tc.suspend, ptr.Deref(s.jobs[jobOfRun].Spec.Suspend, false), tc.reason)
				require.NotNil(t, ref)
				assert.Equal(t, types.UID("uid-1"), ref.UID)
				assert.Nil(t, s.stored.job, "the caller decides when it writes")
			})
		}
	}
}

// TestStep_DeletesACancelledJobWithoutARef: the status is final and has no Ref.
// The Job is this owner's by its uid.
func TestStep_DeletesACancelledJobWithoutARef(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	deleted := 0
	g, err := jobgc.New(func(ns string) deletingJobs { return deletingJobs{s.client(ns), nil, &deleted} }, s.store.get, s.store, jobgc.Options{DeleteCancelled: true})
	require.NoError(t, err)
	step := func() jobgc.Observation {
		_, found, err := g.Step(t.Context(), s.request(s.stored))
		require.NoError(t, err)
		s.store.sync(s.server)
		return found
	}
	step()
	s.edit = func(req *jobgc.Request) { req.Cancel = true }
	assert.Equal(t, jobgc.Cancelled, step().State)
	assert.Zero(t, deleted, "the cancellation is not recorded")
	step()
	assert.Zero(t, deleted, "the cancellation is not recorded")
	s.stored.done = true
	s.stored.recordedAt = &metav1.Time{Time: time.Now()}
	s.edit = func(req *jobgc.Request) {
		recorded(req)
		req.Cancel = true
	}
	reads := s.reads
	assert.Equal(t, jobgc.Cancelled, step().State)
	assert.Equal(t, 1, deleted)
	assert.Equal(t, 1, s.reads-reads, "a copy without a Ref may be late")
}

// TestStep_ResumesNothingForAnOldOwnerBeforeTheFirstRef: another replica knows
// better.
func TestStep_ResumesNothingForAnOldOwnerBeforeTheFirstRef(t *testing.T) {
	for name, stored := range map[string]func(*agentRun){
		"Edited": func(r *agentRun) { r.Generation++ },
		"Ended":  func(r *agentRun) { r.done = true },
		"Other":  func(r *agentRun) { r.job = &jobgc.Ref{Name: jobOfRun, UID: "other"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.step(t)
			s.change(jobOfRun, func(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) })
			s.store.sync(s.server)
			s.stored.job = nil
			late := newAgentRun()
			stored(s.stored)
			s.edit = func(r *jobgc.Request) { r.Suspend = ptr.To(false) }
			_, _, err := s.guard.Step(t.Context(), s.request(late))
			require.NoError(t, err)
			assert.True(t, *s.jobs[jobOfRun].Spec.Suspend)
		})
	}
}
