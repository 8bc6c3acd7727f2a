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

// span begins the span of a reconcile, and binds the logger of the context to it. The names of the attributes are those of
// OpenTelemetry's conventions where there are any; an error's text is redacted like everything else that leaves the process.
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
