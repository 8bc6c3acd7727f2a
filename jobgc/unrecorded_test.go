// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// TestStep_AdoptsAJobThatItCanNoLongerBuild: the process was killed between the
// creation and the status write, and the Secret that the builder reads is gone.
// When it is back, the work must not run again.
func TestStep_AdoptsAJobThatItCanNoLongerBuild(t *testing.T) {
	for name, finished := range map[string]bool{"Running": false, "Finished": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			s.step(t)
			s.stored.job = nil
			if finished {
				s.change(jobOfRun, finish(time.Now()))
			}
			s.store.sync(s.server)
			s.edit = func(req *jobgc.Request) {
				req.Job = func() (*batchv1.Job, error) { return nil, errors.New("no Secret") }
			}
			ref, found, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.NoError(t, err)
			require.NotNil(t, ref)
			assert.Equal(t, s.jobs[jobOfRun].UID, ref.UID)
			assert.Equal(t, finished, found.State == jobgc.Finished)
			assert.Equal(t, finished, ref.Outcome == jobgc.Succeeded)

			s.stored.job, s.stored.done = ref, finished
			s.remove(jobOfRun)
			s.store.sync(s.server)
			s.edit = nil
			_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
			require.NoError(t, err)
			assert.Equal(t, 1, s.creates)
		})
	}
}

// TestStep_ABuilderErrorIsNotBelievedWithoutALook: a caller may take the error
// for final, and the Job would run on.
func TestStep_ABuilderErrorIsNotBelievedWithoutALook(t *testing.T) {
	s := newStage(t, jobgc.Options{})
	invalid, away := errors.New("invalid"), errors.New("the API server is away")
	s.edit = func(req *jobgc.Request) { req.Job = func() (*batchv1.Job, error) { return nil, invalid } }
	_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
	require.Equal(t, invalid, err)
	s.away = away
	_, _, err = s.guard.Step(t.Context(), s.request(s.stored))
	require.ErrorIs(t, err, away)
	assert.NotErrorIs(t, err, invalid)
}

// TestStep_CancelFindsTheJobOfAClusterScopedOwner: the status write after the
// creation conflicts with the cancellation.
func TestStep_CancelFindsTheJobOfAClusterScopedOwner(t *testing.T) {
	s := newServer()
	store := &fakeStore{}
	store.sync(s)
	g, err := jobgc.New(s.client, store.get, store, jobgc.Options{})
	require.NoError(t, err)
	owner := &metav1.ObjectMeta{Name: "run", UID: "run-uid"}
	req := jobgc.Request{
		Owner:  owner,
		Stored: func(context.Context) (metav1.Object, *jobgc.Ref, bool, error) { return owner, nil, false, nil },
		Job: func() (*batchv1.Job, error) {
			job := ownedJob()
			job.Name, job.Namespace = "", "ns"
			return job, nil
		},
	}
	_, found, err := g.Step(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, jobgc.Active, found.State)
	store.sync(s)
	req.Cancel = true
	_, found, err = g.Step(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, jobgc.Cancelled, found.State)
	assert.True(t, *s.jobs[jobOfRun].Spec.Suspend, "its Job ran")
}
