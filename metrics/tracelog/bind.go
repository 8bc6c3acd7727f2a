// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog

import (
	"context"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
)

// The names of the fields, from OpenTelemetry's rules for trace context in logs that are not OTLP.
const (
	traceID = "trace_id"
	spanID  = "span_id"
)

// bound is the key under which the span of the last Bind is kept.
type bound struct{}

// Bind returns ctx with its logger bound to the IDs of its span, be it a [logr.Logger] or, as logr keeps it, a slog one;
// klog and controller-runtime find it there. Call it right after the span starts. Without a logger or a valid span, and
// when ctx comes from a Bind for this span, it returns ctx: a logger that is put into ctx after Bind has the IDs if it was
// made from the one in ctx. A second Bind for a span inside adds the fields once more, but for a logger on a [Handler],
// where the inner span's replace them.
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
	logger = logger.WithValues(traceID, span.TraceID().String(), spanID, span.SpanID().String())
	return logr.NewContext(context.WithValue(ctx, bound{}, span), logger)
}
