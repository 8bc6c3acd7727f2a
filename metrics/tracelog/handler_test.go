// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

const (
	traceID = "0102030405060708090a0b0c0d0e0f10"
	spanID  = "0102030405060708"
)

// inSpan carries a span of the trace above, with that last byte in its ID.
func inSpan(ctx context.Context, last byte, flags trace.TraceFlags) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		SpanID:     trace.SpanID{1, 2, 3, 4, 5, 6, 7, last},
		TraceFlags: flags,
	}))
}

// lines are JSON lines without time and level.
type lines struct{ bytes.Buffer }

func (l *lines) handler() slog.Handler {
	return slog.NewJSONHandler(&l.Buffer, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
}

func TestHandler(t *testing.T) {
	const ids = `"trace_id":"` + traceID + `","span_id":"` + spanID + `"`
	span, unsampled := inSpan(t.Context(), 8, trace.FlagsSampled), inSpan(t.Context(), 8, 0)
	cases := map[string]struct {
		reason string
		log    func(*slog.Logger)
		want   string
	}{
		"Span":       {"The IDs of the context.", func(l *slog.Logger) { l.InfoContext(span, "m", "a", 1) }, `{"msg":"m","a":1,` + ids + `}`},
		"Unsampled":  {"There are IDs without sampling too.", func(l *slog.Logger) { l.InfoContext(unsampled, "m") }, `{"msg":"m",` + ids + `}`},
		"NoSpan":     {"Nothing is made up.", func(l *slog.Logger) { l.InfoContext(t.Context(), "m") }, `{"msg":"m"}`},
		"NoContext":  {"Without a context there is nothing to add.", func(l *slog.Logger) { l.Info("m") }, `{"msg":"m"}`},
		"With":       {"Attributes of the logger come first.", func(l *slog.Logger) { l.With("a", 1).InfoContext(span, "m") }, `{"msg":"m","a":1,` + ids + `}`},
		"Group":      {"The IDs stay at the top level.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m", "a", 1) }, `{"msg":"m",` + ids + `,"g":{"a":1}}`},
		"EmptyGroup": {"A group without attributes is not written.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m") }, `{"msg":"m",` + ids + `}`},
		"NoName":     {"A group without a name is none.", func(l *slog.Logger) { l.WithGroup("").InfoContext(span, "m", "a", 1) }, `{"msg":"m","a":1,` + ids + `}`},
		"Groups": {"Each attribute stays in its group.", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").With("c", 3).InfoContext(span, "m", "d", 4)
		}, `{"msg":"m","a":1,` + ids + `,"g":{"b":2,"h":{"c":3,"d":4}}}`},
		"GroupsNoSpan": {"As without this handler.", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").Info("m", "d", 4)
		}, `{"msg":"m","a":1,"g":{"b":2,"h":{"d":4}}}`},
		"Siblings": {"Loggers that share a beginning do not share an end.", func(l *slog.Logger) {
			g := l.WithGroup("g").With("a", 1)
			g.With("b", 2)
			g.WithGroup("x")
			g.With("c", 3).InfoContext(span, "m")
		}, `{"msg":"m",` + ids + `,"g":{"a":1,"c":3}}`},
		"SiblingGroups": {"Nor do groups.", func(l *slog.Logger) {
			g := l.WithGroup("a").WithGroup("b").WithGroup("c")
			x := g.WithGroup("x")
			g.WithGroup("y")
			x.InfoContext(span, "m", "k", 1)
		}, `{"msg":"m",` + ids + `,"a":{"b":{"c":{"x":{"k":1}}}}}`},
		"Bound":        {"The span of the context wins over what the logger was bound to.", func(l *slog.Logger) { l.With("trace_id", "old", "span_id", "old", "a", 1).InfoContext(span, "m") }, `{"msg":"m","a":1,` + ids + `}`},
		"BoundNoSpan":  {"Without one the logger's stay.", func(l *slog.Logger) { l.With("trace_id", "old", "a", 1).Info("m") }, `{"msg":"m","a":1,"trace_id":"old"}`},
		"BoundTwice":   {"And are not repeated.", func(l *slog.Logger) { l.With("trace_id", "old").With("trace_id", "new", "span_id", "s").Info("m") }, `{"msg":"m","trace_id":"new","span_id":"s"}`},
		"BoundGroup":   {"They are at the top level too.", func(l *slog.Logger) { l.With("trace_id", "old").WithGroup("g").Info("m", "a", 1) }, `{"msg":"m","trace_id":"old","g":{"a":1}}`},
		"BoundInGroup": {"Also those that are bound below a group.", func(l *slog.Logger) { l.WithGroup("g").With("trace_id", "old", "b", 2).Info("m", "a", 1) }, `{"msg":"m","trace_id":"old","g":{"b":2,"a":1}}`},
		"BoundInGroupSpan": {"And not twice.", func(l *slog.Logger) {
			l.WithGroup("g").With("trace_id", "old", "span_id", "old").InfoContext(span, "m", "a", 1)
		}, `{"msg":"m",` + ids + `,"g":{"a":1}}`},
		"Own":        {"A line that speaks of another trace may.", func(l *slog.Logger) { l.InfoContext(span, "m", "trace_id", "other") }, `{"msg":"m","trace_id":"other"}`},
		"OwnInGroup": {"In a group there is no clash.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m", "trace_id", "other") }, `{"msg":"m",` + ids + `,"g":{"trace_id":"other"}}`},
		"Disabled":   {"The level is the handler's below.", func(l *slog.Logger) { l.DebugContext(span, "m") }, ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out lines
			tc.log(slog.New(tracelog.Handler(out.handler())))
			assert.Equal(t, tc.want, strings.TrimSpace(out.String()), tc.reason)
		})
	}
	assert.NotPanics(t, func() { slog.New(tracelog.Handler(nil)).InfoContext(span, "m") })
}

// The rules that any slog.Handler must keep, with a span and without.
func TestHandlerKeepsTheRulesOfSlog(t *testing.T) {
	for name, ctx := range map[string]context.Context{"NoSpan": t.Context(), "Span": inSpan(t.Context(), 8, 0)} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			slogtest.Run(t, func(*testing.T) slog.Handler {
				out.Reset()
				return always{tracelog.Handler(slog.NewJSONHandler(&out, nil)), ctx}
			}, func(t *testing.T) map[string]any {
				t.Helper()
				var got map[string]any
				require.NoError(t, json.Unmarshal(out.Bytes(), &got))
				return got
			})
		})
	}
}

// always gives every record the same context.
type always struct {
	slog.Handler
	ctx context.Context
}

func (a always) Handle(_ context.Context, r slog.Record) error { return a.Handler.Handle(a.ctx, r) }
func (a always) WithAttrs(attrs []slog.Attr) slog.Handler {
	return always{a.Handler.WithAttrs(attrs), a.ctx}
}

func (a always) WithGroup(name string) slog.Handler { return always{a.Handler.WithGroup(name), a.ctx} }
