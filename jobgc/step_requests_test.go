// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// A policy sets the TTL of each Job and lets nobody change it. A Job that is
// not recorded for that would be created again once its TTL has deleted it.
func TestStepAdopts_AJobWhoseTTLMustNotBeRaised(t *testing.T) {
	for name, refusal := range map[string]error{
		"RBAC": apierrors.NewForbidden(jobResource, jobOfRun, nil), "Policy": invalid(jobOfRun),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}})
			job := ownedJob()
			job.Name, job.Namespace, job.UID, job.Spec.TTLSecondsAfterFinished = jobOfRun, "ns", "there", ptr.To[int32](60)
			s.put(job)
			s.refuse = refusal
			s.step(t)
			assert.Equal(t, types.UID("there"), s.stored.job.UID)
			s.refuse = apierrors.NewInternalError(errUnexpected)
			s.stored.job = nil
			_, _, err := s.guard.Step(t.Context(), s.request(s.stored))
			require.ErrorIs(t, err, s.refuse, "that may succeed the next time")
		})
	}
}

// TestStepAdopts_WithoutARequest: the caller was killed before it wrote the
// Ref, or waits with the write until the Job has started.
func TestStepAdopts_WithoutARequest(t *testing.T) {
	o := jobgc.Options{Retention: jobgc.Retention{UnrecordedTTL: week}}
	s := newStage(t, o)
	s.step(t)
	made := s.requests()
	s.stored.job = nil
	s.store.sync(s.server)
	s.guard = newGuard(t, s.world, o)
	assert.Equal(t, jobgc.Active, s.step(t).State)
	assert.Equal(t, types.UID("uid-1"), s.stored.job.UID)
	assert.Equal(t, made, s.requests())
}

// TestStepOfAnEndedRun_ReadsItsJobOnce: after a restart nothing shows what
// became of the Job of a run that ended long ago. The cache may not hold it.
func TestStepOfAnEndedRun_ReadsItsJobOnce(t *testing.T) {
	for name, outcome := range map[string]jobgc.Outcome{"Cancelled": "", "Recorded": jobgc.Succeeded} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, jobgc.Options{})
			s.stored.done = true
			s.stored.job = &jobgc.Ref{Namespace: "ns", Name: jobOfRun, UID: "gone", Outcome: outcome}
			for range 3 {
				found := s.step(t)
				assert.Zero(t, found.After)
				assert.True(t, s.stored.job.Released)
			}
			assert.Equal(t, []int{0, 1, 0, 0}, s.requests())
		})
	}
}

// A cache that lags does not cost a second patch. One that shows the Job as it
// was for too long does: someone may have put the TTL back.
func TestStepReleasesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, jobgc.Options{Retention: jobgc.Retention{SucceededTTL: time.Hour, UnrecordedTTL: week}})
		s.step(t)
		s.change(jobOfRun, finish(time.Now()))
		s.store.sync(s.server)
		for range 5 {
			s.step(t)
			time.Sleep(time.Second)
		}
		assert.Equal(t, []int{1, 0, 1, 2}, s.requests())
		time.Sleep(time.Minute)
		s.step(t)
		assert.Equal(t, []int{1, 0, 2, 3}, s.requests())
	})
}
