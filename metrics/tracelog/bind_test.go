// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// logr and klog drop the context, so the logger has to carry the IDs.
func TestBind(t *testing.T) {
	want := `{"msg":"m","trace_id":"` + traceID + `","span_id":"` + spanID + `"}`
	span := inSpan(t.Context(), 8, trace.FlagsSampled)
	for name, handler := range map[string]func(slog.Handler) slog.Handler{
		"AnyHandler": func(h slog.Handler) slog.Handler { return h }, "OurHandler": tracelog.Handler,
	} {
		t.Run(name, func(t *testing.T) {
			var out lines
			h := handler(out.handler())
			line := func() string { defer out.Reset(); return strings.TrimSpace(out.String()) }

			ctx := tracelog.Bind(logr.NewContext(span, logr.FromSlogHandler(h)))
			logr.FromContextOrDiscard(ctx).Info("m")
			assert.JSONEq(t, want, line(), "a logr logger, which is what klog.FromContext returns too")

			ctx = tracelog.Bind(logr.NewContextWithSlogLogger(span, slog.New(h)))
			logr.FromContextAsSlogLogger(ctx).Info("m")
			assert.JSONEq(t, want, line(), "a slog logger in the context of logr, without a context")
			logr.FromContextAsSlogLogger(ctx).InfoContext(t.Context(), "m")
			assert.JSONEq(t, want, line(), "a slog logger in the context of logr, with a context without a span")
		})
	}
}

func TestBindOnce(t *testing.T) {
	var out []string
	logger := funcr.New(func(_, args string) { out = append(out, args) }, funcr.Options{})
	outer := tracelog.Bind(logr.NewContext(inSpan(t.Context(), 8, 0), logger))
	assert.Equal(t, outer, tracelog.Bind(outer), "the same span")
	logr.FromContextOrDiscard(tracelog.Bind(outer)).Info("m")
	assert.Equal(t, 1, strings.Count(out[0], "trace_id"))

	made := logr.NewContext(outer, logr.FromContextOrDiscard(outer).WithValues("job", "a"))
	logr.FromContextOrDiscard(tracelog.Bind(made)).Info("m")
	assert.Equal(t, 1, strings.Count(out[1], "trace_id"), "a logger made from the bound one has the IDs once")

	var json lines
	ctx := tracelog.Bind(logr.NewContext(inSpan(t.Context(), 8, trace.FlagsSampled), logr.FromSlogHandler(tracelog.Handler(json.handler()))))
	ctx = tracelog.Bind(inSpan(ctx, 9, trace.FlagsSampled))
	logr.FromContextOrDiscard(ctx).Info("m")
	assert.Equal(t, 1, strings.Count(json.String(), "trace_id"))
	assert.JSONEq(t, `{"msg":"m","trace_id":"`+traceID+`","span_id":"0102030405060709"}`, json.String(),
		"on our handler the inner span takes the place of the outer")
}

func TestBindWithoutLoggerOrSpan(t *testing.T) {
	span := inSpan(t.Context(), 8, 0)
	assert.Equal(t, span, tracelog.Bind(span), "no logger")
	logged := logr.NewContext(t.Context(), logr.Discard())
	assert.Equal(t, logged, tracelog.Bind(logged), "no span")
}

// A sink such as zap's writes every value that it was given, also duplicates.
// The IDs of the inner span replace the IDs of the outer one, and values added
// in between stay.
func TestBindReplacesTheIDs(t *testing.T) {
	var out []string
	logger := funcr.NewJSON(func(line string) { out = append(out, line) }, funcr.Options{LogCaller: funcr.All})
	ctx := tracelog.Bind(logr.NewContext(inSpan(t.Context(), 8, trace.FlagsSampled), logger))
	ctx = logr.NewContext(ctx, logr.FromContextOrDiscard(ctx).WithName("n").WithValues("job", "a").WithCallDepth(0))
	ctx = tracelog.Bind(inSpan(ctx, 9, 0))
	logger = logr.FromContextOrDiscard(ctx)
	logger.Info("m", "a", 1)
	logger.Error(nil, "m")
	logger.Info("m", "trace_id", "own")
	logger.WithValues("trace_id", "own").Info("m")
	logger.WithCallDepth(1).Info("m")
	assert.Contains(t, out[4], `"file":"testing.go"`, "the caller of this test")
	for n, want := range []struct{ ids, reason string }{
		{`"trace_id":"` + traceID + `","span_id":"0102030405060709","trace_flags":"00"`, "not sampled"},
		{`"trace_id":"` + traceID + `","span_id":"0102030405060709","trace_flags":"00"`, "an error"},
		{`"trace_id":"own"`, "a line that speaks of another trace"},
		{`"trace_id":"own"`, "a logger that does"},
	} {
		assert.Equal(t, 1, strings.Count(out[n], `"trace_id"`), "%s: %s", want.reason, out[n])
		assert.Contains(t, out[n], want.ids, want.reason)
		assert.Contains(t, out[n], `"job":"a"`)
		assert.Contains(t, out[n], `"logger":"n"`)
		assert.Contains(t, out[n], `"file":"bind_test.go"`, "the caller is this test")
	}
}

// bare is a sink without a depth of calls.
type bare struct{ logr.LogSink }

func (b bare) WithValues(kv ...any) logr.LogSink { return bare{b.LogSink.WithValues(kv...)} }

func TestBindOnASinkWithoutCallers(t *testing.T) {
	var line string
	below := funcr.NewJSON(func(l string) { line = l }, funcr.Options{}).GetSink()
	ctx := tracelog.Bind(logr.NewContext(inSpan(t.Context(), 8, trace.FlagsSampled), logr.New(bare{below})))
	logr.FromContextOrDiscard(ctx).WithCallDepth(1).WithValues("a", 1).Info("m")
	assert.Contains(t, line, `"a":1,"trace_id":"`+traceID+`"`)
}
