// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
)

// The names of the fields, from OpenTelemetry's rules for trace context in logs
// that are not OTLP.
const (
	traceID    = "trace_id"
	spanID     = "span_id"
	traceFlags = "trace_flags"
)

// fields are the names and values for a span. Only a span that is not sampled
// has flags, to show that its trace is not stored.
func fields(span trace.SpanContext) []any {
	kv := []any{traceID, span.TraceID().String(), spanID, span.SpanID().String()}
	if !span.IsSampled() {
		kv = append(kv, traceFlags, span.TraceFlags().String())
	}
	return kv
}

// bound is the context key of the span of the last Bind.
type bound struct{}

// Bind returns ctx with its logger bound to the IDs of its span. The logger is
// a [logr.Logger] or a slog logger that logr put there. klog and
// controller-runtime find it in ctx. Call Bind right after the span starts.
//
// Bind returns ctx unchanged without a logger or a valid span, and when ctx
// comes from a Bind for this span. A logger that is put into ctx after Bind has
// the IDs if it was made from the one in ctx.
//
// A second Bind for an inner span replaces the IDs. Only a slog logger that is
// not on a [Handler] then has both.
func Bind(ctx context.Context) context.Context {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ctx
	}
	logger, err := logr.FromContext(ctx)
	if err != nil {
		return ctx
	}
	if last, ok := ctx.Value(bound{}).(trace.SpanContext); ok && last.Equal(span) {
		return ctx
	}
	return logr.NewContext(context.WithValue(ctx, bound{}, span), with(logger, fields(span)))
}

// with returns a logger that adds the fields to each line.
func with(logger logr.Logger, fields []any) logr.Logger {
	switch s := logger.GetSink().(type) {
	case *sink:
		return logger.WithSink(&sink{s.LogSink, fields})
	case nil, logr.Underlier: // of slog: a Handler has each ID once
		return logger.WithValues(fields...)
	case logr.CallDepthLogSink:
		return logger.WithSink(&sink{s.WithCallDepth(1), fields})
	default:
		return logger.WithSink(&sink{s, fields})
	}
}

// sink adds the fields when a line is written. A logger cannot remove values.
// If Bind used WithValues, the lines after a second Bind would have the IDs of
// two spans.
type sink struct {
	logr.LogSink
	fields []any
}

// Init does nothing: the sink below was initialized.
func (s *sink) Init(logr.RuntimeInfo) {}

// Info writes a line.
func (s *sink) Info(level int, msg string, kv ...any) {
	s.LogSink.Info(level, msg, s.add(kv)...)
}

// Error writes a line.
func (s *sink) Error(err error, msg string, kv ...any) {
	s.LogSink.Error(err, msg, s.add(kv)...)
}

// WithValues gives the values to the sink below. IDs that a line or a logger
// sets itself take precedence.
func (s *sink) WithValues(kv ...any) logr.LogSink { //nolint:ireturn // logr.LogSink requires it
	if slices.Contains(kv, any(traceID)) {
		return &sink{s.LogSink.WithValues(kv...), nil}
	}
	return &sink{s.LogSink.WithValues(kv...), s.fields}
}

// WithName gives the name to the sink below.
func (s *sink) WithName(name string) logr.LogSink { //nolint:ireturn // logr.LogSink requires it
	return &sink{s.LogSink.WithName(name), s.fields}
}

// WithCallDepth keeps the caller in a line correct.
func (s *sink) WithCallDepth(depth int) logr.LogSink { //nolint:ireturn // logr.CallDepthLogSink requires it
	if below, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &sink{below.WithCallDepth(depth), s.fields}
	}
	return s
}

func (s *sink) add(kv []any) []any {
	if slices.Contains(kv, any(traceID)) {
		return kv
	}
	return slices.Concat(kv, s.fields)
}
