// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// TestIDsInAGroupWithoutAName: slog writes its attributes as if there were no
// group.
func TestIDsInAGroupWithoutAName(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(context.Background(), span)
	for name, log := range map[string]func(l *slog.Logger){
		"Record": func(l *slog.Logger) { l.InfoContext(ctx, "x", slog.Group("", slog.String("trace_id", "own"))) },
		"With":   func(l *slog.Logger) { l.With(slog.Group("", slog.String("trace_id", "own"))).InfoContext(ctx, "x") },
	} {
		var b bytes.Buffer
		log(slog.New(tracelog.Handler(slog.NewJSONHandler(&b, nil))))
		assert.Equal(t, 1, strings.Count(b.String(), `"trace_id"`), name)
	}
}
