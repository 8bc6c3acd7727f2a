// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracelog puts the trace and span ID of a reconcile into its log
// lines.
//
// A log line and a trace of the same reconcile share only the trace ID, and the
// interfaces of Kubernetes logging (logr, klog) drop the context that holds it.
// [Handler] adds the IDs to each record that is logged with a context. [Bind]
// adds them to the logger in a context, once per reconcile, for every line
// logged through logr and klog.
//
//	logger := slog.New(tracelog.Handler(slog.NewJSONHandler(os.Stderr, nil)))
//
//	ctx, span := tracer.Start(ctx, "reconcile") // metrics.Controller.Begin starts a span and binds
//	defer span.End()
//	logger.InfoContext(ctx, "...") // the methods of slog without a context add nothing
//	// For logr and klog: the logger that logr.NewContextWithSlogLogger, say, put into ctx.
//	ctx = tracelog.Bind(ctx)
//
// The fields are trace_id and span_id in lower-case hex at the top level of the
// line. OpenTelemetry specifies them for logs that do not travel by OTLP. The
// ctx that metrics.Controller.Begin returns has the same trace ID as the
// exemplar, which metrics/prom serves with Options.Exemplars. A span that is
// not sampled has IDs too, and trace_flags, such as "00": no backend has its
// trace. Without a span nothing is added.
//
// # RBAC
//
// None.
//
// # When not to use it
//
// Where logs leave the process by OTLP, OpenTelemetry's bridge for slog carries
// the IDs itself.
package tracelog
