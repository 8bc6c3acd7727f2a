// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// BeginSpan is Begin with a span. The span, the exemplar of End and the log
// lines of the returned ctx have the same trace ID and span ID:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, key string) (err error) {
//		var result metrics.Result
//		ctx, attempt := r.metrics.BeginSpan(ctx, r.tracer, "reconcile AgentRun")
//		defer attempt.End(ctx, &result)
//
// The logger in ctx is bound as [tracelog.Bind] does it. The span has the
// attribute controller. End adds the attribute result and, if the result is a
// failure, the status Error with the result as its description. The text of an
// error is not in it, because it may hold a secret: [trace.Span.RecordError]
// adds one.
//
// With a nil tracer BeginSpan returns ctx unchanged and is Begin. On a nil
// Controller it also starts no span.
func (c *Controller) BeginSpan(
	ctx context.Context,
	tracer trace.Tracer,
	name string,
	opts ...trace.SpanStartOption,
) (context.Context, Attempt) {
	a := c.Begin()
	if c == nil || isnil.Is(tracer) {
		return ctx, a
	}
	ctx, a.span = tracer.Start(ctx, name, opts...)
	a.span.SetAttributes(c.id)
	return tracelog.Bind(ctx), a
}

func endSpan(span trace.Span, r Result) {
	span.SetAttributes(attribute.String("result", r.String()))
	if r.Failed() {
		span.SetStatus(codes.Error, r.String())
	}
	span.End()
}
