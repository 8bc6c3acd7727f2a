// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"errors"
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

// refusing is a client of a server whose admission refuses each creation, as a
// quota that this very Job has used up does: admission comes before the API
// server looks whether the name is taken.
func refusing(s *stage, refusal error) func(string) fakeJobs {
	return func(ns string) fakeJobs {
		c := s.client(ns)
		c.create = func(*batchv1.Job) (*batchv1.Job, error) { s.creates++; return nil, refusal }
		return c
	}
}

func TestStep_CreationRefusedWhileTheJobExists(t *testing.T) {
	for name, refusal := range map[string]error{
		"Quota":  apierrors.NewForbidden(jobResource, jobOfRun, errors.New("exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1")),
		"Policy": invalid(jobOfRun),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			s.step(t)          // creates the Job
			s.stored.job = nil // killed before the Ref was written
			s.change(jobOfRun, finish(time.Now()))
			s.store.sync(s.server)
			g, err := jobgc.New(refusing(s, refusal), s.store.get, s.store, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			require.NoError(t, err)
			ref, found, err := g.Step(t.Context(), s.request(s.stored))
			require.NoError(t, err, "the Job exists, and has finished")
			assert.Equal(t, jobgc.Finished, found.State)
			require.NotNil(t, ref)
			assert.Equal(t, jobgc.Succeeded, ref.Outcome)
		})
	}
}

// TestStep_RefusedTTLIsNoAnswerAboutTheJob: a webhook sets a TTL and refuses
// its change. Then the look at the Job fails. The Job exists and runs.
func TestStep_RefusedTTLIsNoAnswerAboutTheJob(t *testing.T) {
	for name, gone := range map[string]bool{"Unreadable": false, "Gone": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			busy := apierrors.NewInternalError(errors.New("busy"))
			client := func(ns string) fakeJobs {
				c := s.client(ns)
				create := c.create
				c.create = func(j *batchv1.Job) (*batchv1.Job, error) {
					j = j.DeepCopy()
					j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60)
					created, err := create(j)
					if s.away = busy; gone {
						s.away = nil
						s.remove(jobOfRun)
					}
					return created, err
				}
				return c
			}
			g, err := jobgc.New(client, s.store.get, s.store, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			require.NoError(t, err)
			s.refuse = invalid(jobOfRun)
			_, _, err = g.Step(t.Context(), s.request(s.stored))
			require.Error(t, err)
			assert.False(t, apierrors.IsInvalid(err), "%v", err)
			assert.Equal(t, !gone, errors.Is(err, busy))
		})
	}
}

// TestStep_RefusedTTLOfAFinishedJob: an interrupted call created the Job, and
// the webhook's TTL deletes it while it is adopted. Its result is known.
func TestStep_RefusedTTLOfAFinishedJob(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.stored.job = nil
	s.change(jobOfRun, finish(time.Now()))
	client := func(ns string) fakeJobs {
		c := s.client(ns)
		c.patch = func(string, []byte) (*batchv1.Job, error) {
			s.remove(jobOfRun)
			return nil, invalid(jobOfRun)
		}
		return c
	}
	g, err := jobgc.New(client, s.store.get, s.store, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
	require.NoError(t, err)
	ref, found, err := g.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Finished, found.State)
	assert.Equal(t, jobgc.Succeeded, ref.Outcome)
}

// A deleting owner that waits for the cancellation with a separate finalizer;
// a creation was cut off.
func TestStep_CancelOfADeletingOwner(t *testing.T) {
	for name, informer := range map[string]bool{"NoInformer": false, "CacheBehind": true} {
		for state, end := range map[string]bool{"Running": false, "Finished": true} {
			t.Run(name+state, func(t *testing.T) {
				s := newStage(t, jobgc.Options{})
				g, err := jobgc.NewUncached(s.client, jobgc.Options{})
				require.NoError(t, err)
				if informer {
					g = newGuard(t, s.world, jobgc.Options{})
				}
				s.step(t)
				s.stored.job = nil // killed before the Ref was written
				if end {
					s.change(jobOfRun, finish(time.Now()))
				}
				s.stored.DeletionTimestamp = ptr.To(metav1.Now())
				s.stored.Finalizers = []string{"example.com/waits"}
				s.edit = func(r *jobgc.Request) { r.Cancel = true }
				ref, found, err := g.Step(t.Context(), s.request(s.stored))
				require.NoError(t, err)
				assert.Equal(t, !end, found.State == jobgc.Cancelled, "a Job that has finished is not cancelled")
				assert.Equal(t, !end, ptr.Deref(s.jobs[jobOfRun].Spec.Suspend, false), "the Job exists")
				require.NotNil(t, ref)
				assert.Equal(t, types.UID("uid-1"), ref.UID)
				if end {
					assert.Equal(t, jobgc.Succeeded, ref.Outcome)
				}
			})
		}
	}
}

// Without an informer no event announces the end of a Job: each Observation of
// a Job that has not finished says when to look again. A resumed Job is still
// Suspended in the answer to the patch, so that no status changes either.
func TestStep_NoInformerLooksAgainAfterAPatch(t *testing.T) {
	for name, edit := range map[string]func(*jobgc.Request){
		"Suspend": func(r *jobgc.Request) { r.Suspend = ptr.To(true) },
		"Resume":  func(r *jobgc.Request) { r.Suspend = ptr.To(false) },
		"Cancel":  func(r *jobgc.Request) { r.Cancel = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			g, err := jobgc.NewUncached(s.client, jobgc.Options{})
			require.NoError(t, err)
			s.guard = g
			require.Positive(t, s.step(t).After, "the creation")
			if name == "Resume" {
				s.change(jobOfRun, func(j *batchv1.Job) {
					j.Spec.Suspend = ptr.To(true)
					j.Status.Conditions = []batchv1.JobCondition{holds(batchv1.JobSuspended, time.Now())}
				})
			}
			was := s.step(t)
			require.Positive(t, was.After, "a look")
			s.edit = edit
			patches := s.patches
			found := s.step(t)
			require.Equal(t, patches+1, s.patches)
			assert.Positive(t, found.After, "%s, then %s: and no event follows", was.State, found.State)
		})
	}
}

// TestStep_CancelOfADeletingOwnerThatCannotBeBuilt: of a cluster-scoped owner
// the Job says the namespace. The Job goes with its owner.
func TestStep_CancelOfADeletingOwnerThatCannotBeBuilt(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.stored.Namespace = ""
	s.stored.DeletionTimestamp = ptr.To(metav1.Now())
	s.stored.Finalizers = []string{"example.com/waits"}
	s.edit = func(r *jobgc.Request) {
		r.Cancel = true
		r.Job = func() (*batchv1.Job, error) { return nil, errors.New("the ConfigMap is gone") }
	}
	_, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	assert.Equal(t, jobgc.Cancelled, found.State)
}
