// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// For any chain of With and WithGroup, a line has the IDs at the top level, and
// is otherwise unchanged.
func FuzzHandler(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte{1, 1, 0, 1, 0, 0, 2})
	f.Add([]byte{1, 3, 1, 2, 2, 0, 3, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 64 {
			t.Skip("long enough")
		}
		line := func(handler func(slog.Handler) slog.Handler) map[string]any {
			var out lines
			logger := slog.New(handler(out.handler()))
			var args []any
			for i, op := range ops {
				key := fmt.Sprint("k", i)
				switch op % 4 {
				case 0:
					logger = logger.With(key, i)
				case 1:
					logger = logger.WithGroup(key)
				case 2:
					args = append(args, key, i)
				case 3:
					args = append(args, slog.Group(key, "in", i))
				}
			}
			logger.InfoContext(inSpan(t.Context(), 8, trace.FlagsSampled), "m", args...)
			var got map[string]any
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			return got
		}
		got := line(tracelog.Handler)
		assert.Equal(t, traceID, got["trace_id"])
		assert.Equal(t, spanID, got["span_id"])
		delete(got, "trace_id")
		delete(got, "span_id")
		assert.Equal(t, line(func(h slog.Handler) slog.Handler { return h }), got)
	})
}
