// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
)

// failing is a server with a fault. Each request takes a while.
type failing struct {
	*server
	fault func(n int64) error // of the n-th request

	requests, refused atomic.Int64 // refused: with an answer
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(10 * time.Millisecond)
	err := f.fault(f.requests.Add(1))
	if answer, ok := errors.AsType[*apierrors.StatusError](err); ok {
		f.refused.Add(1)
		return reply(r, int(answer.ErrStatus.Code), answer.ErrStatus)
	}
	if err != nil {
		return nil, err
	}
	return f.server.RoundTrip(r)
}

// An API server that is away fails the attempts at all runs, and so does one
// that has just started. A few attempts find out, and after a short outage no
// run waits longer than a pause. A server that fails a few requests stops
// nobody.
//
//req:shows E6
func TestOutage_AFewAttemptsFindOut(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	forbidden := apierrors.NewForbidden(v1alpha1.GroupVersion().WithResource("agentruns").GroupResource(), "nightly", errors.New("no role"))
	const workers, runs = 4, 100
	away := func(since time.Duration, _ int64) error {
		switch {
		case since < 3*time.Second:
			return refused
		case since < 4500*time.Millisecond:
			return forbidden
		}
		return nil
	}
	flaky := func(_ time.Duration, n int64) error {
		if n%5 == 0 {
			return reset
		}
		return nil
	}
	for name, tc := range map[string]struct {
		options  Options
		fault    func(since time.Duration, n int64) error
		requests int64         // at most, beyond one for each run
		refused  int64         // at most
		within   time.Duration // all runs are written
	}{
		"Away":             {Options{Namespaces: []string{"ns"}}, away, 6 * workers, 2 * workers, 6 * time.Second},
		"AwayForTwoSpaces": {Options{}, away, 6 * workers, 2 * workers, 6 * time.Second},
		"OneOfFive":        {Options{Namespaces: []string{"ns"}}, flaky, runs, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				began := time.Now()
				f := &failing{server: s, fault: func(n int64) error { return tc.fault(time.Since(began), n) }}
				tc.options.Workers = workers
				c := s.controllerOn(t, f, tc.options)
				for i := range runs {
					run, job := newStarted("run-"+strconv.Itoa(i), new(metav1.Now()))
					if i%2 == 0 && len(tc.options.Namespaces) == 0 {
						run.Namespace, job.Namespace, run.Status.JobRef.Namespace = "other", "other", "other"
					}
					job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("AgentRun"))}
					require.NoError(t, c.scopes[0].jobs.GetStore().Add(job))
					run.ResourceVersion = "100"
					s.runs[run.Name] = run
					c.queue.Add(keyOf(run))
				}
				s.refresh(t, c)
				leading, stop := context.WithTimeout(t.Context(), tc.within)
				defer stop()
				c.lead(leading, t.Context())
				assert.Len(t, s.writes, runs)
				assert.LessOrEqual(t, f.requests.Load(), runs+tc.requests)
				assert.LessOrEqual(t, f.refused.Load(), tc.refused)
			})
		})
	}
}

// An answer that another server would give too says that this one is there.
func TestOutage_EndsWithAnAnswer(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "AgentRun"}, "nightly", nil)
	for name, tc := range map[string]struct {
		causes []error
		paused bool
	}{
		"Away":     {[]error{refused, refused, refused, refused}, true},
		"Answered": {[]error{refused, refused, refused, invalid, refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := newStarted("nightly", nil)
			s := newServer(run)
			c := s.controllerOn(t, s, Options{Namespaces: []string{"ns"}})
			for _, cause := range tc.causes {
				a := &attempt{Controller: c, scope: c.scopes[0], before: run, run: run.DeepCopy()}
				_ = a.recordDegraded(t.Context(), cause)
			}
			assert.Equal(t, tc.paused, c.outage.left() > 0)
		})
	}
}

// A worker that is told to stop in a pause stops.
func TestOutage_DelaysNoShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := outage{single: true}
		for range outageAttempts {
			o.fail("ns")
		}
		ctx, stop := context.WithTimeout(t.Context(), outagePause/2)
		defer stop()
		began := time.Now()
		o.wait(ctx)
		assert.Equal(t, outagePause/2, time.Since(began))
		o.wait(t.Context())
		assert.Equal(t, outagePause, time.Since(began))
	})
}
