// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/events"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// span starts the span of a reconcile and binds the context's logger to it. The
// attributes follow OpenTelemetry's conventions where they exist. The text of
// an error is redacted, like every text that leaves the process.
func (c *Controller) span(ctx context.Context, key types.NamespacedName) (context.Context, func(metrics.Result, error)) {
	if c.options.Tracer == nil {
		return ctx, func(metrics.Result, error) {}
	}
	ctx, span := c.options.Tracer.Start(ctx, "reconcile AgentRun", trace.WithAttributes(
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("agentrun.name", key.Name),
	))
	return tracelog.Bind(ctx), func(result metrics.Result, err error) {
		span.SetAttributes(attribute.String("result", result.String()))
		switch {
		case err != nil:
			reason, _ := events.Classify(err)
			span.SetAttributes(attribute.String("error.type", reason))
			span.SetStatus(codes.Error, c.secrets.Redact(err.Error()))
		case result.Failed():
			span.SetStatus(codes.Error, result.String()) // a panic
		}
		span.End()
	}
}
