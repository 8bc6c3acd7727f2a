// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// tracing returns a tracer and the spans that it has ended.
func tracing() (trace.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test"), exporter
}

// The exemplar, the span and the log line of a reconcile name one trace and one
// span, by construction: also if End gets the context from before the span.
//
//req:shows O4
func TestBeginSpan_ExemplarSpanAndLogLineAgree(t *testing.T) {
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	tracer, exporter := tracing()
	var log bytes.Buffer
	outer := logr.NewContextWithSlogLogger(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)))
	result := metrics.Timeout

	ctx, attempt := m.Controller("agentrun").BeginSpan(outer, tracer, "reconcile AgentRun",
		trace.WithAttributes(attribute.String("k8s.namespace.name", "ci")))
	logr.FromContextOrDiscard(ctx).Info("created the job")
	attempt.End(outer, &result)

	spans := exporter.GetSpans()
	require.Len(t, spans, 1)
	span := spans[0]
	var line struct {
		TraceID string `json:"trace_id"`
		SpanID  string `json:"span_id"`
	}
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	assert.Equal(t, span.SpanContext.TraceID().String(), line.TraceID)
	assert.Equal(t, span.SpanContext.SpanID().String(), line.SpanID)
	exemplar := regexp.MustCompile(`_bucket\{.*# (\{.*?\})`).FindStringSubmatch(openMetrics(t, ep))
	require.Len(t, exemplar, 2, "the histogram has an exemplar")
	assert.Contains(t, exemplar[1], `trace_id="`+line.TraceID+`"`)
	assert.Contains(t, exemplar[1], `span_id="`+line.SpanID+`"`)

	assert.Equal(t, "reconcile AgentRun", span.Name)
	assert.ElementsMatch(t, []attribute.KeyValue{
		attribute.String("k8s.namespace.name", "ci"), attribute.String("controller", "agentrun"), attribute.String("result", "timeout"),
	}, span.Attributes)
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "timeout"}, span.Status)
}

// The span has the same result as the metric.
func TestBeginSpan_EndsWithTheResult(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		result *metrics.Result
		panics bool
		want   string
		code   codes.Code
	}{
		"Success": {"A success has no status.", ptr.To(metrics.Success), false, "success", codes.Unset},
		"Later":   {"Neither has a reconcile that asks for another.", ptr.To(metrics.RequeueAfter), false, "requeue_after", codes.Unset},
		"Error":   {"A failure has.", ptr.To(metrics.Error), false, "error", codes.Error},
		"Nil":     {"A result that was not set is unknown.", nil, false, "unknown", codes.Unset},
		"Panic":   {"A panic is a failure.", nil, true, "panic", codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			m, ep := newSet(t, metrics.Options{})
			tracer, exporter := tracing()
			func() {
				defer func() { _ = recover() }()
				ctx, attempt := m.Controller("c").BeginSpan(t.Context(), tracer, "reconcile")
				defer attempt.End(ctx, tc.result)
				if tc.panics {
					panic("boom")
				}
				attempt.End(ctx, tc.result)
			}()
			spans := exporter.GetSpans()
			require.Len(t, spans, 1, "the second End does nothing")
			assert.Contains(t, spans[0].Attributes, attribute.String("result", tc.want), tc.reason)
			assert.Equal(t, tc.code, spans[0].Status.Code, tc.reason)
			assert.Equal(t, "1", scrape(t, ep)[reconciles+`{controller="c",result="`+tc.want+`"}`])
		})
	}
}

// Without a tracer the context is unchanged and nothing is allocated.
func TestBeginSpan_WithoutATracerIsBegin(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	for _, tracer := range []trace.Tracer{nil, (*tracerOf)(nil)} {
		ctx, attempt := c.BeginSpan(t.Context(), tracer, "reconcile")
		assert.Equal(t, t.Context(), ctx)
		attempt.End(ctx, ptr.To(metrics.Success))
	}
	assert.Equal(t, "2", scrape(t, ep)[reconciles+`{controller="c",result="success"}`])

	var none *metrics.Controller
	tracer, exporter := tracing()
	ctx, attempt := none.BeginSpan(t.Context(), tracer, "reconcile")
	attempt.End(ctx, ptr.To(metrics.Success))
	assert.Empty(t, exporter.GetSpans())
}

// tracerOf is a tracer that panics if it is a nil pointer.
type tracerOf struct{ noop.Tracer }

func (t *tracerOf) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.Tracer.Start(ctx, name, opts...)
}
