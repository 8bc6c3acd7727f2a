// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/jobgc"
)

// The races in which a Job is deleted before its result is read. The numbers
// are from the design's list.

// A Job that is deleted in the foreground while it runs gets no condition any
// more. Its outcome is unknown, and no failure.
func TestRace10DeletedWhileItRunsAndHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	ref := c.ensured(t, s, "job", never())
	suite.Eventually(t, "its pod runs", func(context.Context) bool { return s.live(t, "job").Status.Active == 1 })
	s.remove(t, "job", metav1.DeletePropagationForeground)
	suite.Eventually(t, "its pods are gone", func(context.Context) bool { return len(s.pods(t, "job")) == 0 })
	f := c.until(t, ref, jobgc.Deleting)
	assert.True(t, f.Lost())
	assert.Empty(t, f.Outcome)
	for range 10 {
		job := s.live(t, "job")
		require.NotNil(t, job, "held")
		require.Empty(t, job.Status.Conditions)
		assert.Zero(t, job.Status.Failed)
		suite.Wait(t.Context(), 100*time.Millisecond)
	}
	suite.Eventually(t, "the loss, once recorded, lets it go", func(context.Context) bool {
		require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
		return s.live(t, "job") == nil
	})
}

// It is why Step sets the hold at the creation or never.
func TestRace12NoFinalizerOnceADeletionHasBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.controller(t, jobgc.Options{Finalizer: finalizer})
	c.ensured(t, s, "job", suspended())
	s.remove(t, "job", metav1.DeletePropagationBackground)
	_, err := s.jobs.Patch(t.Context(), "job", types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/late"}]`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "no new finalizers can be added")
	ref, err := ensure(t.Context(), c.guard, s.ref("job"), s.job("job"))
	require.NoError(t, err, "a Job with the finalizer is adopted: no other controller would release it")
	c.until(t, ref, jobgc.Deleting)
	require.NoError(t, release(t.Context(), c.guard, ref, jobgc.Retention{}))
	s.gone(t, "job")
}
