// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics/kube"
)

// TestTheHooksOfTheProcessStayFree: client-go has one set of hooks for a
// process, and some accept only the first caller. The test uses all of this
// package, and the hooks stay unchanged. Another caller, such as
// controller-runtime, can still set them.
func TestTheHooksOfTheProcessStayFree(t *testing.T) {
	hooks := func() []any {
		return []any{
			clientmetrics.RequestLatency, clientmetrics.ResolverLatency, clientmetrics.RequestSize, clientmetrics.ResponseSize,
			clientmetrics.RateLimiterLatency, clientmetrics.RequestResult, clientmetrics.RequestRetry,
			otel.GetMeterProvider(), otel.GetTracerProvider(), otel.GetTextMapPropagator(), otel.GetErrorHandler(), slog.Default(), http.DefaultTransport,
		}
	}
	before := hooks()

	m, _ := newSet(t)
	queues, err := kube.QueueProvider(m.Controller("c"))
	require.NoError(t, err)
	newQueue(queues).ShutDown()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/apis", http.NoBody)
	require.NoError(t, err)
	resp, err := kube.Transport(m)(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})).RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	started, stopped, err := kube.Callbacks(m, "lease", func(context.Context) {}, func() {})
	require.NoError(t, err)
	started(t.Context())
	stopped()

	for i, h := range hooks() {
		assert.Equal(t, before[i], h)
	}
	had := theirs.queues.Load()
	workqueue.SetProvider(&theirs)
	last := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "of-somebody-else"})
	defer last.ShutDown()
	assert.Equal(t, had+1, theirs.queues.Load(), "this package did not set the provider of the process")
}

// theirs stays the process's provider, also when the test is run again.
var theirs provider

// provider is the workqueue.MetricsProvider of another package.
type provider struct {
	workqueue.MetricsProvider
	queues atomic.Int64
}

func (p *provider) NewDepthMetric(string) workqueue.GaugeMetric {
	p.queues.Add(1)
	return nothing{}
}
func (p *provider) NewAddsMetric(string) workqueue.CounterMetric           { return nothing{} }
func (p *provider) NewRetriesMetric(string) workqueue.CounterMetric        { return nothing{} }
func (p *provider) NewLatencyMetric(string) workqueue.HistogramMetric      { return nothing{} }
func (p *provider) NewWorkDurationMetric(string) workqueue.HistogramMetric { return nothing{} }
func (p *provider) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return nothing{}
}

func (p *provider) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return nothing{}
}

type nothing struct{}

func (nothing) Inc()            {}
func (nothing) Dec()            {}
func (nothing) Set(float64)     {}
func (nothing) Observe(float64) {}
