// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

func BenchmarkLine(b *testing.B) {
	json := slog.NewJSONHandler(io.Discard, nil)
	span := inSpan(b.Context(), 8, 1)
	cases := map[string]struct {
		logger *slog.Logger
		ctx    context.Context
	}{
		"Plain":       {slog.New(json), span},
		"NoSpan":      {slog.New(tracelog.Handler(json)), b.Context()},
		"Span":        {slog.New(tracelog.Handler(json)), span},
		"SpanInGroup": {slog.New(tracelog.Handler(json)).WithGroup("g"), span},
	}
	for name, bc := range cases {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bc.logger.InfoContext(bc.ctx, "created the job", "job", "run-1", "attempt", 3)
			}
		})
	}
	b.Run("Bind", func(b *testing.B) {
		ctx := logr.NewContextWithSlogLogger(span, slog.New(tracelog.Handler(json)))
		b.ReportAllocs()
		for b.Loop() {
			tracelog.Bind(ctx)
		}
	})
}
