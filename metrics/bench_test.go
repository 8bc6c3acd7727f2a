// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// BenchmarkReconcile is one reconcile with the SDK and the Prometheus reader
// attached, including the clock.
func BenchmarkReconcile(b *testing.B) {
	cases := map[string]struct {
		options prom.Options
		ctx     context.Context
	}{
		"Plain":           {prom.Options{}, b.Context()},
		"SampledExemplar": {prom.Options{Exemplars: true}, sampled(b.Context())},
		"ExemplarsNoSpan": {prom.Options{Exemplars: true}, b.Context()},
	}
	for name, bc := range cases {
		b.Run(name, func(b *testing.B) {
			c := benchController(b, bc.options)
			b.ReportAllocs()
			for b.Loop() {
				reconcile(bc.ctx, c)
			}
		})
	}
	b.Run("Parallel", func(b *testing.B) {
		c := benchController(b, prom.Options{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				reconcile(b.Context(), c)
			}
		})
	})
}

// reconcile records one attempt, as a user writes it.
func reconcile(ctx context.Context, c *metrics.Controller) {
	var result metrics.Result
	defer c.Begin().End(ctx, &result)
	result = metrics.Success
}

func BenchmarkQueueWait(b *testing.B) {
	c := benchController(b, prom.Options{})
	b.ReportAllocs()
	for b.Loop() {
		c.QueueWait(time.Millisecond)
	}
}

func BenchmarkClientRequest(b *testing.B) {
	ep, err := prom.New(prom.Options{})
	require.NoError(b, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		m.ClientRequest(b.Context(), metrics.Request{Verb: "get", Group: "batch", Resource: "jobs", Code: "2xx"}, time.Millisecond)
	}
}

func benchController(b *testing.B, o prom.Options) *metrics.Controller {
	b.Helper()
	ep, err := prom.New(o)
	require.NoError(b, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(b, err)
	return m.Controller("agentrun")
}

// sampled carries a sampled span of the trace 0102…10.
func sampled(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		SpanID:     trace.SpanID{1, 2, 3, 4, 5, 6, 7, 8},
		TraceFlags: trace.FlagsSampled,
	}))
}
