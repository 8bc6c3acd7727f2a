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
			assert.JSONEq(t, want, line(), "and with one that has no span")
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
	assert.Equal(t, 1, strings.Count(out[1], "trace_id"), "a logger that was made from the bound one")

	var json lines
	ctx := tracelog.Bind(logr.NewContext(inSpan(t.Context(), 8, 0), logr.FromSlogHandler(tracelog.Handler(json.handler()))))
	ctx = tracelog.Bind(inSpan(ctx, 9, 0))
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
