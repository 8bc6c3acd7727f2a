// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// A run that was deleted, or written by another client, during its reconcile
// has not failed: no Event, no condition, no request.
func TestARunThatIsGoneOrOvertakenIsNotHindered(t *testing.T) {
	for _, cause := range []error{status.ErrReplaced, status.ErrSuperseded, status.ErrStaleRead, status.ErrFieldConflict} {
		run := newRun("nightly", "uid-1")
		a := &attempt{before: run, run: run.DeepCopy()} // without a Controller, so that any request would panic
		require.ErrorIs(t, a.recordDegraded(t.Context(), cause), cause)
		assert.Equal(t, run, a.run)
	}
}

// An outage of the API server is the same for all runs. Its record would cost
// each of them two writes just when the server is back. A server that has just
// started refuses valid requests. A timeout may be one webhook's, so it is
// recorded.
//
//req:shows E6
func TestRecordDegraded_WritesNoOutage(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	forbidden := apierrors.NewForbidden(batchv1.Resource("jobs"), "nightly", errors.New("no role"))
	for name, tc := range map[string]struct {
		causes []error // of attempts at the run
		wait   time.Duration
		writes int
	}{
		"Refused":      {[]error{refused}, 0, 0},
		"TimedOut":     {[]error{context.DeadlineExceeded}, 0, 1},
		"Forbidden":    {[]error{forbidden}, 0, 1},
		"Starting":     {[]error{refused, forbidden}, startingTime - time.Second, 0},
		"Started":      {[]error{refused, forbidden}, startingTime, 1},
		"AfterTimeout": {[]error{context.DeadlineExceeded, forbidden}, 0, 2},
		"OneOfThree":   {slices.Repeat([]error{refused, forbidden}, passesLimit), 0, 1}, // servers is away
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, _ := newStarted("nightly", nil)
				s := newServer(run)
				c := s.controller(t)
				for _, cause := range tc.causes {
					time.Sleep(tc.wait)
					s.refresh(t, c)
					_, before := c.find(keyOf(run))
					a := &attempt{Controller: c, scope: c.scopes[0], before: before, run: before.DeepCopy()}
					require.ErrorIs(t, a.recordDegraded(t.Context(), cause), cause)
					c.queue.AddRateLimited(keyOf(run))
				}
				assert.Equal(t, tc.writes, s.writes[run.Name])
				c.queue.ShutDown()
			})
		})
	}
}

// What has ended is final: jobgc may release its Job without a request for it.
func TestRequest_SaysWhenTheEndOfARunWasRecorded(t *testing.T) {
	run, _ := newStarted("nightly", nil)
	run.Status.UpdatedAt = new(metav1.Now()) // of the write that it runs
	s := newServer(run)
	running := &attempt{Controller: s.controller(t), before: run, run: run.DeepCopy()}
	setPhase(s.runs[run.Name], v1alpha1.Succeeded, reasonSucceeded, "", time.Now())
	req := running.request(t.Context())
	assert.Nil(t, req.RecordedAt)
	_, _, done, err := req.Stored(t.Context())
	require.NoError(t, err)
	assert.True(t, done, "the copy is old, and the server knows more")

	ended := s.runs[run.Name].DeepCopy()
	ended.Status.UpdatedAt = new(metav1.Now())
	a := &attempt{Controller: running.Controller, before: ended, run: ended.DeepCopy()}
	assert.Equal(t, ended.Status.UpdatedAt, a.request(t.Context()).RecordedAt)
	ended.Spec.Cancel = true
	a.run = ended
	assert.False(t, a.request(t.Context()).Cancel, "it ended before it was cancelled")
	s.runs[run.Name].Status.Phase = v1alpha1.Pending // the store was restored
	_, _, done, err = a.request(t.Context()).Stored(t.Context())
	require.NoError(t, err)
	assert.False(t, done, "a live read")
}
