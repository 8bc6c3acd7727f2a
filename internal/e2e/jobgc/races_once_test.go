// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// The races that would run work twice, or leave it behind. The numbers are from
// the design's list.

func TestRace05CrashBetweenCreateAndStatusWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	seen := s.watchJobs(t)
	s.work(t, created)
	ref, _ := s.record(t, "run")
	require.Empty(t, ref.UID, "the creation was never recorded")
	s.finished(t, "run") // and its Job has run
	s.work(t, "")
	ref, _ = s.record(t, "run")
	assert.Equal(t, jobgc.Succeeded, ref.Outcome, "it was adopted")
	ranOnce(t, seen(), 1)
}

//req:shows J4
func TestRace07CrashBetweenOutcomeAndRelease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	seen := s.watchJobs(t)
	s.work(t, recorded)
	assert.EqualValues(t, 604800, *s.live(t, "run").Spec.TTLSecondsAfterFinished, "not released: the backstop holds")
	s.work(t, "")
	job := s.live(t, "run")
	assert.Less(t, *job.Spec.TTLSecondsAfterFinished, int32(3700), "released, from the persisted Ref alone")
	assert.GreaterOrEqual(t, *job.Spec.TTLSecondsAfterFinished, int32(3600))
	s.work(t, "")
	assert.Equal(t, job.ResourceVersion, s.live(t, "run").ResourceVersion, "once is enough")
	ranOnce(t, seen(), 1)
}

// Kubernetes counts a TTL from the finish. A late TTL of ten minutes must not
// delete the Job immediately.
//
//req:shows J4
func TestRace08TheTTLIsPatchedLate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	finished := time.Now().Add(-time.Hour) // the controller was down
	for _, name := range []string{"ours", "plain"} {
		ref := c.ensured(t, s, name, managed())
		s.complete(t, name, finished)
		f := c.until(t, ref, jobgc.Finished)
		ref.Outcome = f.Outcome
		if name == "ours" {
			require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: 10 * time.Minute}))
		} else {
			s.patch(t, name, `{"spec":{"ttlSecondsAfterFinished":600}}`)
		}
	}
	s.gone(t, "plain")
	s.stays(t, "ours")
	assert.InDelta(t, 4200, *s.live(t, "ours").Spec.TTLSecondsAfterFinished, 60)
}

func TestRace14ReleaseAgainstTheTTLController(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, 0, jobgc.Options{})
	recorded := func(t *testing.T, name string, edits ...edit) jobgc.Ref {
		t.Helper()
		ref := c.ensured(t, s, name, edits...)
		ref.Outcome = c.until(t, ref, jobgc.Finished).Outcome
		return ref
	}
	atOnce := jobgc.Retention{SucceededTTL: time.Second}

	t.Run("GoneBetweenLookAndRelease", func(t *testing.T) {
		ref := recorded(t, "gone")
		s.patch(t, "gone", `{"spec":{"ttlSecondsAfterFinished":0}}`)
		s.gone(t, "gone")
		require.NoError(t, release(t.Context(), c.guard, ref, atOnce), "a 404 means that the Job is gone")
	})
	t.Run("GoneAndTheNameTakenAgain", func(t *testing.T) {
		ref := recorded(t, "taken")
		s.remove(t, "taken", metav1.DeletePropagationBackground)
		s.gone(t, "taken")
		successor, err := s.jobs.Create(t.Context(), s.job("taken", suspended(), func(j *batchv1.Job) { j.Annotations = map[string]string{"a": "b"} }), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, release(t.Context(), c.guard, ref, atOnce))
		now := s.live(t, "taken")
		assert.Equal(t, successor.UID, now.UID)
		assert.Nil(t, now.Spec.TTLSecondsAfterFinished, "the test of the uid protects it")
	})
	t.Run("RefusedForAnotherReason", func(t *testing.T) {
		ref := recorded(t, "refused")
		size := 0
		for key, value := range s.live(t, "refused").Annotations {
			size += len(key) + len(value)
		}
		s.patch(t, "refused", `{"metadata":{"annotations":{"a":"`+strings.Repeat("b", 256<<10-size-1)+`"}}}`) // as much as fits
		err := release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: time.Hour})
		require.True(t, apierrors.IsInvalid(err), "not every 422 is a success: %v", err)
		assert.ErrorContains(t, err, "metadata.annotations: Too long")
	})
}
