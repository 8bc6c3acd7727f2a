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

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/metrics"
)

// lists answers lists too. It counts the watches, and the lists of one object.
type lists struct {
	watches
	listed, watched atomic.Int64
	refused         atomic.Value // the resource that may not be listed
}

func (l *lists) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if q.Has("sendInitialEvents") {
		l.watched.Add(1)
		return l.watches.RoundTrip(r)
	}
	if q.Get("limit") == "1" {
		l.listed.Add(1)
	}
	answer := &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}}}
	body := `{"kind":"JobList","apiVersion":"batch/v1","items":[]}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/"+l.refused.Load().(string)):
		answer.StatusCode = http.StatusForbidden
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	case strings.HasSuffix(r.URL.Path, "/agentruns"):
		body = `{"kind":"AgentRunList","apiVersion":"agents.controllerkit.dev/v1alpha1","items":[]}`
	}
	answer.Body = io.NopCloser(strings.NewReader(body))
	return answer, nil
}

// newStandby starts a replica that leads when lead is closed.
func newStandby(t *testing.T, refused string, lead chan struct{}) (*Controller, *lists, *counting) {
	t.Helper()
	run, job := newStarted("nightly", nil)
	run.ResourceVersion = "100"
	run.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("AgentRun"))
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	l := &lists{watches: watches{t: t, objects: map[string]runtime.Object{"agentruns": run, "jobs": job}, accept: map[string]string{}, send: map[string]func(watch.EventType, runtime.Object){}}}
	l.refused.Store(refused)
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	require.NoError(t, err)
	began := &counting{}
	c, err := New(&rest.Config{Host: "http://127.0.0.1", Transport: l, QPS: -1}, m, Options{
		Tracer: began,
		Lead: func(ctx context.Context, reconcile func(leading, holding context.Context)) error {
			select {
			case <-lead:
				reconcile(ctx, context.WithoutCancel(ctx))
			case <-ctx.Done():
			}
			return nil
		},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return c, l, began
}

func isReady(c *Controller) bool {
	select {
	case <-c.Ready():
		return true
	default:
		return false
	}
}

// TestAStandbyCachesNothing: it would decode and keep all that its leader does.
func TestAStandbyCachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lead := make(chan struct{})
		c, l, began := newStandby(t, "none", lead)
		time.Sleep(time.Hour)
		assert.True(t, isReady(c))
		assert.Equal(t, int64(2), l.listed.Load(), "runs and Jobs, each once")
		assert.Zero(t, l.watched.Load())
		close(lead)
		time.Sleep(time.Second)
		assert.Equal(t, int64(2), l.watched.Load())
		assert.NotZero(t, began.n.Load(), "it reconciles what it has cached")
	})
}

// TestAStandbyThatMayNotList_IsNotReady: a rolling update must not replace
// working replicas with it.
func TestAStandbyThatMayNotList_IsNotReady(t *testing.T) {
	for _, refused := range []string{"agentruns", "jobs"} {
		t.Run(refused, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l, _ := newStandby(t, refused, nil)
				time.Sleep(time.Hour)
				assert.False(t, isReady(c))
				l.refused.Store("none")
				time.Sleep(6 * time.Second)
				assert.True(t, isReady(c))
			})
		})
	}
}
