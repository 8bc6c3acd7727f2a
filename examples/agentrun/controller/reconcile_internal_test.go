// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
// each of them two writes just when the server is back. A timeout may be one
// webhook's, so it is recorded.
//
//req:shows E6
func TestRecordDegraded_WritesNoOutage(t *testing.T) {
	for name, tc := range map[string]struct {
		cause  error
		writes int
	}{
		"Refused":  {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, 0},
		"TimedOut": {context.DeadlineExceeded, 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := newStarted("nightly", nil)
			s := newServer(run)
			c := s.controller(t)
			a := &attempt{Controller: c, scope: c.scopes[0], before: run, run: run.DeepCopy()}
			require.ErrorIs(t, a.recordDegraded(t.Context(), tc.cause), tc.cause)
			assert.Equal(t, tc.writes, s.writes[run.Name])
		})
	}
}

// What has ended is final: jobgc may release its Job without a request for it.
func TestRequest_SaysThatAnEndedRunIsRecorded(t *testing.T) {
	run, _ := newStarted("nightly", nil)
	s := newServer(run)
	running := &attempt{Controller: s.controller(t), before: run, run: run.DeepCopy()}
	setPhase(s.runs[run.Name], v1alpha1.Succeeded, reasonSucceeded, "", time.Now())
	req := running.request(t.Context())
	assert.False(t, req.Recorded)
	_, _, done, err := req.Stored(t.Context())
	require.NoError(t, err)
	assert.True(t, done, "the copy is old, and the server knows more")

	ended := s.runs[run.Name].DeepCopy()
	a := &attempt{Controller: running.Controller, before: ended, run: ended.DeepCopy()}
	assert.True(t, a.request(t.Context()).Recorded)
	s.runs[run.Name].Status.Phase = v1alpha1.Pending // the store was restored
	_, _, done, err = a.request(t.Context()).Stored(t.Context())
	require.NoError(t, err)
	assert.False(t, done, "a live read")
}
