// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/metrics"
)

// lists answers lists too. It counts the watches, and the lists of one object.
type lists struct {
	*watches

	listed, watched, open atomic.Int64

	refused  atomic.Value // the resource that may not be listed
	silences atomic.Bool  // it takes no watch
}

func (l *lists) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	watching := q.Has("sendInitialEvents")
	if watching && !l.silences.Load() {
		l.watched.Add(1)
		l.open.Add(1)
		context.AfterFunc(r.Context(), func() { l.open.Add(-1) })
		return l.watches.RoundTrip(r)
	}
	if q.Get("limit") == "1" {
		l.listed.Add(1)
	}
	code := http.StatusOK
	body := `{"kind":"JobList","apiVersion":"batch/v1","items":[]}`
	switch {
	case watching:
		code = http.StatusTooManyRequests
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`
	case strings.HasSuffix(r.URL.Path, "/"+l.refused.Load().(string)):
		code = http.StatusForbidden
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	case strings.HasSuffix(r.URL.Path, "/agentruns"):
		body = `{"kind":"AgentRunList","apiVersion":"agents.controllerkit.dev/v1alpha1","items":[]}`
	}
	return &http.Response{StatusCode: code, Request: r, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}}, nil
}

// standby is a replica that waits for the leadership.
type standby struct {
	*Controller

	server *lists
	began  *counting
	elect  chan struct{}
	lose   context.CancelFunc // the lease
	stop   context.CancelFunc

	released, returned atomic.Bool
}

// newStandby starts a replica on a server that refuses lists of one resource.
func newStandby(t *testing.T, refused string) *standby {
	t.Helper()
	run, job := newStarted("nightly", nil)
	l := &lists{watches: newWatches(t, run, job)}
	l.refused.Store(refused)
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	s := &standby{server: l, began: &counting{}, elect: make(chan struct{})}
	holding, lose := context.WithCancel(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	s.lose = lose
	s.stop = stop
	s.Controller, err = New(&rest.Config{Host: "http://127.0.0.1", Transport: l, QPS: -1}, m, Options{
		Tracer: s.began,
		Lead: func(ctx context.Context, reconcile func(leading, holding context.Context)) error {
			defer s.released.Store(true)
			select {
			case <-s.elect:
			case <-ctx.Done():
				return nil
			}
			leading, end := context.WithCancel(ctx)
			defer end()
			context.AfterFunc(holding, end)
			reconcile(leading, holding)
			return nil
		},
	})
	require.NoError(t, err)
	returned := make(chan error, 1)
	go func() {
		err := s.Start(ctx)
		s.returned.Store(true)
		returned <- err
	}()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-returned)
		lose()
		s.started.Wait()
	})
	return s
}

// TestAStandbyCachesNothing: it would decode and keep all that its leader does.
func TestAStandbyCachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandby(t, "none")
		time.Sleep(time.Hour)
		assert.True(t, s.Ready())
		assert.Equal(t, int64(2), s.server.listed.Load(), "runs and Jobs, each once")
		assert.Zero(t, s.server.watched.Load())
		close(s.elect)
		time.Sleep(time.Second)
		assert.Equal(t, int64(2), s.server.watched.Load())
		assert.NotZero(t, s.began.n.Load(), "it reconciles what it has cached")
	})
}

// TestAStandbyThatMayNotList_IsNotReady: a rolling update must not replace
// working replicas with it.
func TestAStandbyThatMayNotList_IsNotReady(t *testing.T) {
	for _, refused := range []string{"agentruns", "jobs"} {
		t.Run(refused, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStandby(t, refused)
				time.Sleep(time.Hour)
				assert.False(t, s.Ready())
				s.server.refused.Store("none")
				time.Sleep(6 * time.Second)
				assert.True(t, s.Ready())
			})
		})
	}
}

// TestALeaderIsReadyWhenItsCachesAreFilled: it may list what it cannot watch.
func TestALeaderIsReadyWhenItsCachesAreFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandby(t, "none")
		time.Sleep(time.Second)
		require.True(t, s.Ready())
		s.server.silences.Store(true)
		close(s.elect)
		time.Sleep(time.Hour)
		assert.False(t, s.Ready())
		s.server.silences.Store(false)
		time.Sleep(2 * time.Minute)
		assert.True(t, s.Ready())
	})
}

// TestALeaderIsNotAskedWhatItMayList: its caches show it.
func TestALeaderIsNotAskedWhatItMayList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandby(t, "jobs")
		time.Sleep(time.Minute)
		close(s.elect)
		time.Sleep(time.Minute)
		listed := s.server.listed.Load()
		time.Sleep(time.Hour)
		assert.Equal(t, listed, s.server.listed.Load())
	})
}

// TestALeaderThatStopsWhileItFills: its informers wait up to a minute before
// they try again, and the kubelet gives a process half a minute.
func TestALeaderThatStopsWhileItFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandby(t, "none")
		s.server.silences.Store(true)
		close(s.elect)
		time.Sleep(10 * time.Minute)
		s.stop()
		synctest.Wait()
		assert.True(t, s.released.Load(), "its lease")
		time.Sleep(2 * time.Second)
		assert.True(t, s.returned.Load())
	})
}

// TestALeaderThatLosesItsLeaseEndsItsWatches: another one has its own.
func TestALeaderThatLosesItsLeaseEndsItsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandby(t, "none")
		close(s.elect)
		time.Sleep(time.Minute)
		require.Equal(t, int64(2), s.server.open.Load())
		s.lose()
		time.Sleep(time.Second)
		assert.Zero(t, s.server.open.Load())
	})
}
