// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// start replaces tracer.Start(ctx, "reconcile").
func start(ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xaf, 1}, SpanID: trace.SpanID{0xb7, 2}, TraceFlags: trace.FlagsSampled,
	}))
}

// plain leaves out what differs from run to run.
func plain() slog.Handler {
	return slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
}

// Every line that a reconcile logs, through slog, logr or klog, names its
// trace.
func Example() {
	logger := slog.New(tracelog.Handler(plain()))
	ctx := start(logr.NewContextWithSlogLogger(context.Background(), logger))
	ctx = tracelog.Bind(ctx)
	logr.FromContextOrDiscard(ctx).Info("created the job", "job", "run-1")
	// Output: {"msg":"created the job","job":"run-1","trace_id":"af010000000000000000000000000000","span_id":"b702000000000000"}
}

func ExampleHandler() {
	logger := slog.New(tracelog.Handler(plain())).WithGroup("job")
	logger.InfoContext(start(context.Background()), "created", "name", "run-1")
	logger.Info("no span", "name", "run-1")
	// Output:
	// {"msg":"created","trace_id":"af010000000000000000000000000000","span_id":"b702000000000000","job":{"name":"run-1"}}
	// {"msg":"no span","job":{"name":"run-1"}}
}

func ExampleBind() {
	ctx := start(logr.NewContext(context.Background(), logr.FromSlogHandler(plain())))
	logr.FromContextOrDiscard(ctx).Info("before")
	logr.FromContextOrDiscard(tracelog.Bind(ctx)).Info("after")
	// Output:
	// {"msg":"before"}
	// {"msg":"after","trace_id":"af010000000000000000000000000000","span_id":"b702000000000000"}
}
