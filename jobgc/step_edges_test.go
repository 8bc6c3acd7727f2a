// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_KeepsTheTTLOfTheTemplateWithoutAnnotations: another client has wiped
// them. The TTL that the Job asked for counts.
func TestStep_KeepsTheTTLOfTheTemplateWithoutAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Minute, UnrecordedTTL: week}})
		s.edit = func(req *jobgc.Request) {
			req.Job = func() (*batchv1.Job, error) {
				job := ownedJob()
				job.Name, job.Spec.TTLSecondsAfterFinished = "", ptr.To[int32](7200)
				return job, nil
			}
		}
		s.step(t)
		s.change(jobOfRun, func(job *batchv1.Job) {
			finish(time.Now())(job)
			job.Annotations = nil
		})
		s.deliver()
		s.step(t) // record
		s.step(t) // release
		assert.Equal(t, int32(7200), *s.jobs[jobOfRun].Spec.TTLSecondsAfterFinished)
	})
}

// TestStep_ReturnsWhatItFoundWithARefusedRelease: the caller may record the
// state of the Job, although a policy refuses the patch.
func TestStep_ReturnsWhatItFoundWithARefusedRelease(t *testing.T) {
	s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
	s.step(t)
	s.change(jobOfRun, finish(time.Now()))
	s.deliver()
	s.step(t) // record
	s.refuse = apierrors.NewForbidden(jobResource, jobOfRun, errors.New("by a policy"))
	ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorIs(t, err, s.refuse)
	assert.Equal(t, s.stored.job, ref)
	assert.Equal(t, jobgc.Finished, found.State)
	assert.Equal(t, jobgc.Succeeded, found.Outcome)
}

// TestStep_LooksForTheJobOfARunThatIsDone without Cancel, after a creation got
// no answer: the Job must not keep its finalizer.
func TestStep_LooksForTheJobOfARunThatIsDone(t *testing.T) {
	s := newStage(t, jobgc.Options{Finalizer: hold})
	cut := errors.New("connection reset")
	client := s.client("ns")
	g, err := jobgc.New(func(string) fakeJobs {
		cutOff := client
		cutOff.create = func(job *batchv1.Job) (*batchv1.Job, error) {
			_, _ = client.create(job)
			return nil, cut
		}
		return cutOff
	}, s.store.get, s.store, jobgc.Options{Finalizer: hold})
	require.NoError(t, err)
	s.guard = g
	_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorIs(t, err, cut)
	s.stored.done = true
	s.step(t)
	require.NotNil(t, s.stored.job, "the API server has it")
	s.change(jobOfRun, finish(time.Now()))
	s.deliver()
	s.step(t)
	assert.Empty(t, s.jobs[jobOfRun].Finalizers)
	gets := s.gets
	s.deliver()
	s.step(t)
	assert.Equal(t, gets, s.gets)
}

// TestStep_FindsTheJobOfARunThatIsDoneInTheCache after a restart.
func TestStep_FindsTheJobOfARunThatIsDoneInTheCache(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	s.step(t)
	s.stored.job = nil
	s.stored.done = true
	s.guard = newGuard(t, s.world, jobgc.Options{})
	s.step(t)
	assert.Nil(t, s.stored.job, "the cache is late")
	assert.Zero(t, s.gets)
	s.deliver()
	s.step(t)
	assert.NotNil(t, s.stored.job)
}

// TestStep_NameTaken has a type, which says whose the other Job is.
func TestStep_NameTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*batchv1.Job)
		owner  string
		going  bool
	}{
		"Nobodys":  {"It has no controller.", func(job *batchv1.Job) { job.OwnerReferences = nil }, "", false},
		"Others":   {"It belongs to another owner.", func(job *batchv1.Job) { job.OwnerReferences[0] = ownerRef("other", "x") }, "other", false},
		"Deleting": {"It goes away.", func(job *batchv1.Job) { job.OwnerReferences = nil; job.DeletionTimestamp = ptr.To(metav1.Now()) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			job := ownedJob()
			job.Name, job.UID = jobOfRun, "there"
			tc.change(job)
			s.put(job)
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			taken := new(jobgc.NameTakenError)
			require.ErrorAs(t, err, &taken, tc.reason)
			assert.Equal(t, "ns/"+jobOfRun, taken.Namespace+"/"+taken.Name)
			assert.Equal(t, tc.going, taken.Deleting)
			assert.Equal(t, tc.owner != "", taken.Controller != nil)
			if tc.owner != "" {
				assert.Equal(t, tc.owner, taken.Controller.Name)
			}
		})
	}
}

// TestStep_SaysThatTheNamespaceIsTerminating as a state, so that the owner's
// finalizer can go.
func TestStep_SaysThatTheNamespaceIsTerminating(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	client := s.client("ns")
	client.create = func(job *batchv1.Job) (*batchv1.Job, error) {
		err := apierrors.NewForbidden(jobResource, job.Name, errors.New("it is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return nil, err
	}
	g, err := jobgc.New(func(string) fakeJobs { return client }, s.store.get, s.store, jobgc.Options{})
	require.NoError(t, err)
	ref, found, err := g.Step(t.Context(), s.request(s.stored))
	require.NoError(t, err)
	assert.Nil(t, ref)
	assert.Equal(t, jobgc.NotCreated, found.State)
	assert.Equal(t, "NamespaceTerminating", found.Reason)
}

// TestStep_ReleasesAJobThatTheCacheLacks: a selector excludes it. It has a
// finalizer and a TTL, which would stay.
func TestStep_ReleasesAJobThatTheCacheLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Finalizer: hold, Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
		s.step(t)
		s.change(jobOfRun, finish(time.Now()))
		time.Sleep(time.Minute)
		for range 4 {
			s.step(t)
			time.Sleep(2 * time.Second)
		}
		job := s.jobs[jobOfRun]
		assert.Empty(t, job.Finalizers)
		assert.Equal(t, int32(3664), *job.Spec.TTLSecondsAfterFinished, "an hour from its release")
		assert.True(t, s.stored.job.Released, "the cache will not show it")
		requests := s.requests()
		s.step(t)
		assert.Equal(t, requests, s.requests())
	})
}

// TestStep_RefusesACachedReadOfAnotherJob or of none.
func TestStep_RefusesACachedReadOfAnotherJob(t *testing.T) {
	unknown := errors.New("unknown namespace for the cache")
	for name, tc := range map[string]struct {
		reason string
		cached jobgc.Cached
		want   string
	}{
		"Other": {"A field selector ignored the name.", func(context.Context, string, string) (*batchv1.Job, error) { return named("other"), nil }, `returned ns/other with the uid "uid-of-other", want this name and a uid`},
		"None":  {"Neither a Job nor an error.", func(context.Context, string, string) (*batchv1.Job, error) { return nil, nil }, "returned neither a Job nor an error"}, //nolint:nilnil // that is the case
		"Cache": {"The cache has other namespaces.", func(context.Context, string, string) (*batchv1.Job, error) { return nil, unknown }, "the cached read of the Job ns/run-run-uid: unknown namespace for the cache"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			g, err := jobgc.New(s.client, tc.cached, s.store, jobgc.Options{})
			require.NoError(t, err)
			_, _, err = g.Step(t.Context(), s.request(s.stored))
			require.ErrorContains(t, err, tc.want, tc.reason)
			assert.Zero(t, s.creates)
		})
	}
}
