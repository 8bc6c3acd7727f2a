// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/proompteng/controllerkit/metrics"
)

// ruling is an error that says itself whether it is terminal.
type ruling struct{ terminal bool }

func (r ruling) Error() string  { return "ruling" }
func (r ruling) Terminal() bool { return r.terminal }

// holder is an error that cannot be unwrapped if it is nil.
type holder struct{ error }

func (h *holder) Unwrap() error { return h.error }

var errInvalid = errors.New("invalid")

func isInvalid(err error) bool { return errors.Is(err, errInvalid) }

// TestBegin_CountsByResult: the results of the function decide, also of one
// that returns early.
//
//req:shows O2
func TestBegin_CountsByResult(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		after  time.Duration
		want   string
	}{
		"Success":     {"No error is a success.", nil, 0, "success"},
		"Negative":    {"A negative time asks for nothing.", nil, -1, "success"},
		"After":       {"A time to look again is a requeue.", nil, time.Minute, "requeue_after"},
		"Error":       {"An error is retried.", errors.New("refused"), 0, "error"},
		"ErrorAfter":  {"An error counts, also if the reconcile chose the time of the retry.", errors.New("refused"), time.Minute, "error"},
		"NilPointer":  {"A nil pointer in an error is an error.", (*ruling)(nil), 0, "error"},
		"NilHolder":   {"Nothing is asked of a nil pointer.", (*holder)(nil), 0, "error"},
		"NilInside":   {"Nor of one in the chain.", fmt.Errorf("create: %w", (*ruling)(nil)), 0, "error"},
		"Terminal":    {"The option decides.", fmt.Errorf("create: %w", errInvalid), 0, "terminal_error"},
		"Own":         {"The error's method decides.", fmt.Errorf("create: %w", ruling{true}), 0, "terminal_error"},
		"OwnFirst":    {"It decides before the option.", errors.Join(ruling{false}, errInvalid), 0, "error"},
		"Timeout":     {"A deadline that passed.", fmt.Errorf("get: %w", context.DeadlineExceeded), 0, "timeout"},
		"Canceled":    {"A context that was canceled.", fmt.Errorf("get: %w", context.Canceled), 0, "canceled"},
		"BothTimeout": {"A terminal error stays one if the context ended too.", errors.Join(context.Canceled, errInvalid), 0, "terminal_error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, reader := newSet(t, metrics.Options{IsTerminal: isInvalid})
				c := m.Controller("c")
				after := tc.after
				err := func() (err error) {
					_, done := c.Begin(t.Context(), "a")
					defer done(&err, &after)
					assert.InDelta(t, 1, collect(t, reader)[`controller.reconcile.active{controller="c"}`], 0)
					time.Sleep(1500 * time.Millisecond)
					return tc.err
				}()
				assert.Equal(t, tc.err, err)
				got := notZero(with(collect(t, reader), "reconcile"))
				assert.Equal(t, map[string]float64{
					`controller.reconciles{controller="c",result="` + tc.want + `"}`:             1,
					`controller.reconcile.duration{controller="c",result="` + tc.want + `"}`:     1,
					`controller.reconcile.duration_sum{controller="c",result="` + tc.want + `"}`: 1.5,
				}, got, tc.reason)
			})
		})
	}
}

// TestBegin_CountsAPanicAndLetsItGoOn: independent of the frame that calls
// done. A panic that the reconcile recovers is its own affair.
func TestBegin_CountsAPanicAndLetsItGoOn(t *testing.T) {
	type done = func(*error, *time.Duration)
	calls := map[string]func(done done, leave func()) error{
		"Deferred": func(done done, leave func()) (err error) {
			defer done(&err, nil)
			leave()
			return nil
		},
		"InAFunction": func(done done, leave func()) (err error) {
			defer func() { done(&err, nil) }()
			leave()
			return nil
		},
	}
	var nothing map[string]int
	ways := map[string]struct {
		leave  func()
		want   string
		goesOn bool
	}{
		"Return":  {func() {}, "success", false},
		"Panic":   {func() { panic("boom") }, "panic", true},
		"Runtime": {func() { nothing["x"]++ }, "panic", true},
		"Exit":    {runtime.Goexit, "panic", false},
		"Recovered": {func() {
			defer func() { _ = recover() }()
			panic("boom")
		}, "success", false},
	}
	for how, call := range calls {
		for name, way := range ways {
			t.Run(how+name, func(t *testing.T) {
				m, reader := newSet(t, metrics.Options{})
				var value any
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { value = recover() }()
					_, done := m.Controller("c").Begin(t.Context(), "a")
					_ = call(done, way.leave)
				}()
				<-ended
				assert.Equal(t, way.goesOn, value != nil)
				got := notZero(with(collect(t, reader), "controller.reconciles"))
				assert.Equal(t, map[string]float64{`controller.reconciles{controller="c",result="` + way.want + `"}`: 1}, got)
			})
		}
	}
}

// TestBegin_NamesAForgottenDone: the key that begins again shows it.
func TestBegin_NamesAForgottenDone(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	assert.NotContains(t, collect(t, reader), `controller.reconciles{controller="c",result="forgotten"}`)
	_, late := c.Begin(t.Context(), "a")
	require.NoError(t, reconcile(t.Context(), c, "a", 0, nil))
	late(nil, nil)
	got := collect(t, reader)
	assert.Equal(t, map[string]float64{
		`controller.reconciles{controller="c",result="forgotten"}`: 1,
		`controller.reconciles{controller="c",result="success"}`:   1,
	}, notZero(with(got, "controller.reconciles")), "a forgotten reconcile counts once")
	assert.Zero(t, got[`controller.reconcile.active{controller="c"}`])
}

// TestBegin_CountsOnce: done may be called twice, and concurrently.
func TestBegin_CountsOnce(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	var calls sync.WaitGroup
	for key := range 100 {
		_, done := c.Begin(t.Context(), key)
		calls.Go(func() { done(nil, nil) })
		calls.Go(func() { done(nil, nil) })
	}
	calls.Wait()
	assert.Equal(t, map[string]float64{`controller.reconciles{controller="c",result="success"}`: 100},
		notZero(with(collect(t, reader), "controller.reconciles")))
}

// tracing returns a tracer and the spans that it has ended.
func tracing(sampler sdktrace.Sampler) (trace.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	return provider.Tracer("test"), exporter
}

// TestBegin_SpanMetricAndLogLineAgree: by construction.
//
//req:shows O4
func TestBegin_SpanMetricAndLogLineAgree(t *testing.T) {
	tracer, exporter := tracing(sdktrace.AlwaysSample())
	m, reader := newSet(t, metrics.Options{Tracer: tracer})
	var log bytes.Buffer
	outer := logr.NewContextWithSlogLogger(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)))
	_ = func() (err error) {
		ctx, done := m.Controller("agentrun").Begin(outer, "ci/run-1")
		defer done(&err, nil)
		logr.FromContextOrDiscard(ctx).Info("Created the Job")
		return fmt.Errorf("password=hunter2: %w", context.DeadlineExceeded)
	}()

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
	exemplars := exemplarsOf(t, reader)
	require.Len(t, exemplars, 1)
	assert.Equal(t, line.TraceID, hex.EncodeToString(exemplars[0].TraceID))
	assert.Equal(t, line.SpanID, hex.EncodeToString(exemplars[0].SpanID))

	assert.Equal(t, "reconcile agentrun", span.Name)
	assert.ElementsMatch(t, []attribute.KeyValue{
		attribute.String("controller", "agentrun"), attribute.String("result", "timeout"),
	}, span.Attributes)
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "timeout"}, span.Status, "an error's text may hold a secret")
	assert.Empty(t, span.Events)
}

// TestBegin_SpanHasAStatusIfItFailed: a requeue and a cancellation did not.
func TestBegin_SpanHasAStatusIfItFailed(t *testing.T) {
	for _, tc := range []struct {
		after time.Duration
		err   error
		want  codes.Code
	}{
		{0, nil, codes.Unset},
		{time.Minute, nil, codes.Unset},
		{0, context.Canceled, codes.Unset},
		{0, ruling{true}, codes.Error},
		{0, ruling{false}, codes.Error},
	} {
		tracer, exporter := tracing(sdktrace.AlwaysSample())
		m, _ := newSet(t, metrics.Options{Tracer: tracer})
		_ = reconcile(t.Context(), m.Controller("c"), "a", tc.after, tc.err)
		require.Len(t, exporter.GetSpans(), 1)
		assert.Equal(t, tc.want, exporter.GetSpans()[0].Status.Code, "%v", tc.err)
	}
}

// TestBegin_NoExemplarOfASpanThatWasNotSampled: a link to a trace that was not
// stored leads nowhere.
func TestBegin_NoExemplarOfASpanThatWasNotSampled(t *testing.T) {
	tracer, _ := tracing(sdktrace.NeverSample())
	m, reader := newSet(t, metrics.Options{Tracer: tracer})
	require.NoError(t, reconcile(t.Context(), m.Controller("c"), "a", 0, nil))
	assert.Empty(t, exemplarsOf(t, reader))
}

// TestBegin_WithoutATracer keeps the context.
func TestBegin_WithoutATracer(t *testing.T) {
	for _, tracer := range []trace.Tracer{nil, (*tracerOf)(nil)} {
		m, _ := newSet(t, metrics.Options{Tracer: tracer})
		ctx, done := m.Controller("c").Begin(t.Context(), "a")
		assert.Equal(t, t.Context(), ctx)
		done(nil, nil)
	}
}

// tracerOf is a tracer that panics if it is a nil pointer.
type tracerOf struct{ noop.Tracer }

func (t *tracerOf) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.Tracer.Start(ctx, name, opts...)
}

// exemplarsOf returns the exemplars of the durations of reconciles.
func exemplarsOf(t *testing.T, reader *sdkmetric.ManualReader) (all []metricdata.Exemplar[float64]) {
	t.Helper()
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	for _, m := range got.ScopeMetrics[0].Metrics {
		durations, ok := m.Data.(metricdata.Histogram[float64])
		if !ok || m.Name != "controller.reconcile.duration" {
			continue
		}
		for _, p := range durations.DataPoints {
			all = append(all, p.Exemplars...)
		}
	}
	return all
}

// TestBegin_CountsAPanicOfIsTerminal: the reconcile has ended.
func TestBegin_CountsAPanicOfIsTerminal(t *testing.T) {
	m, reader := newSet(t, metrics.Options{IsTerminal: func(error) bool { panic("boom") }})
	c := m.Controller("c")
	assert.PanicsWithValue(t, "boom", func() { _ = reconcile(t.Context(), c, "a", 0, errRefused) })
	got := collect(t, reader)
	assert.InDelta(t, 1, got[`controller.reconciles{controller="c",result="panic"}`], 0)
	assert.Zero(t, got[`controller.reconcile.active{controller="c"}`])
}
