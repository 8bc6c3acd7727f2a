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

// The races of a release, which comes late or finds another Job. The numbers
// are from the design's list.

// Kubernetes counts a TTL from the finish. A late TTL of ten minutes must not
// delete the Job immediately.
//
//req:shows J4
func TestRace08TheTTLIsPatchedLate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{})
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
	c := s.controller(t, jobgc.Options{})
	recorded := func(t *testing.T, name string) jobgc.Ref {
		t.Helper()
		ref := c.ensured(t, s, name)
		ref.Outcome = c.until(t, ref, jobgc.Finished).Outcome
		return ref
	}
	t.Run("GoneAndTheNameTakenAgain", func(t *testing.T) {
		ref := recorded(t, "taken")
		s.remove(t, "taken", metav1.DeletePropagationBackground)
		s.gone(t, "taken")
		successor, err := s.jobs.Create(t.Context(), s.job("taken", suspended(), func(j *batchv1.Job) { j.Annotations = map[string]string{"a": "b"} }), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{SucceededTTL: time.Second}))
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
