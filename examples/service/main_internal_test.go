// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

func failedJob(name string, at time.Time) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at), Reason: "DeadlineExceeded", Message: "Job was active longer than specified deadline"},
		}},
	}
}

// TestNothingRunsBeforeStart: the synctest bubble ends only if newReporter
// started no goroutine.
func TestNothingRunsBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := fake.NewClientset()
		_, err := newReporter(cs, cs, sdkmetric.NewMeterProvider(), sdktrace.NewTracerProvider())
		require.NoError(t, err)
	})
}

// TestReporter_CountsAPanicAsAPanic: the worker ends, as client-go's workers
// do, and the last scrape says why.
func TestReporter_CountsAPanicAsAPanic(t *testing.T) {
	cs := fake.NewClientset()
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	r, err := newReporter(cs, cs, meters, sdktrace.NewTracerProvider())
	require.NoError(t, err)
	r.jobs = nil // so that the reconcile panics
	assert.Panics(t, func() { _ = r.reconcile(t.Context(), "default/nightly") })

	var read metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &read))
	var results []string
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != "controller.reconciles" {
				continue
			}
			for _, p := range sum.DataPoints {
				result, _ := p.Attributes.Value("result")
				if p.Value > 0 {
					results = append(results, result.AsString())
				}
			}
		}
	}
	assert.Equal(t, []string{"panic"}, results)
}

// TestTheServiceStaysItsOwn: the reporter reports a failed Job in the service's
// metrics and log and by an Event. It changes nothing else in the process.
//
//req:shows A2
func TestTheServiceStaysItsOwn(t *testing.T) {
	names := registered(t)
	meters, tracers, propagator := otel.GetMeterProvider(), otel.GetTracerProvider(), otel.GetTextMapPropagator()
	listeners := countListeners(t)
	cs := fake.NewClientset(failedJob("old", time.Now().Add(-time.Hour)), failedJob("nightly", time.Now()))
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var lines lockedBuffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, cs, cs, l, slog.New(tracelog.Handler(slog.NewJSONHandler(&lines, nil)))) }()

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := cs.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		require.NoError(c, err)
		require.Len(c, list.Items, 1)
		assert.Equal(c, "JobFailed", list.Items[0].Reason)
		assert.Equal(c, "nightly", list.Items[0].Regarding.Name)
		assert.Contains(c, get(ctx, c, l, "/metrics"), `controller="reporter",otel_scope_name=`)
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, "hello\n", get(ctx, t, l, "/"))
	assert.Contains(t, lines.String(), `"msg":"Job failed"`)
	assert.Contains(t, lines.String(), `"trace_id":"`)
	assert.NotContains(t, lines.String(), `"job":"default/old"`, "the earlier process reported it")

	listeners(1)
	assert.Equal(t, names, registered(t))
	assert.Same(t, meters, otel.GetMeterProvider())
	assert.Same(t, tracers, otel.GetTracerProvider())
	assert.Equal(t, propagator, otel.GetTextMapPropagator())

	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		assert.Fail(t, "the service does not end")
	}
	listeners(0)
}

// registered are the metrics of the process's default registry.
func registered(t *testing.T) (names []string) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

func get(ctx context.Context, t require.TestingT, l net.Listener, path string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+path, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// lockedBuffer keeps what several goroutines log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Clone(b.b.String())
}

// TestAFailureIsReportedOnce_AlsoIfTheJobIsLabelledLater creates its Jobs when
// the watch has begun: the fake does not replay what happens between the
// informer's list and its watch.
func TestAFailureIsReportedOnce_AlsoIfTheJobIsLabelledLater(t *testing.T) {
	t.Parallel()
	cs := fake.NewClientset()
	watched := make(chan struct{})
	begin := sync.OnceFunc(func() { close(watched) })
	cs.PrependWatchReactor("jobs", func(action clienttesting.Action) (bool, watch.Interface, error) {
		jobs, err := cs.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begin()
		return true, jobs, err
	})
	r, err := newReporter(cs, cs, sdkmetric.NewMeterProvider(), sdktrace.NewTracerProvider())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	<-watched

	jobs := cs.BatchV1().Jobs("default")
	job, err := jobs.Create(t.Context(), failedJob("nightly", time.Now()), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.events.Stats().Written == 1 }, time.Minute, time.Millisecond)
	job.Labels = map[string]string{"triage": "done"}
	_, err = jobs.Update(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = jobs.Create(t.Context(), failedJob("weekly", time.Now()), metav1.CreateOptions{}) // its change comes later
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.events.Stats().Written == 2 }, time.Minute, time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	assert.EqualValues(t, 2, r.events.Stats().Recorded, "one of each Job")
}

func TestTheServiceEnds_IfItCannotServe(t *testing.T) {
	t.Parallel()
	cs := fake.NewClientset()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, serve(t.Context(), cs, cs, l, slog.New(slog.DiscardHandler)), net.ErrClosed)
}
