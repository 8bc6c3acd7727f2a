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
	"time"

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
		"Span":       {"The record gets the IDs of the context.", func(l *slog.Logger) { l.InfoContext(span, "m", "a", 1) }, `{"msg":"m","a":1,` + ids + `}`},
		"Unsampled":  {"A span that is not sampled has IDs and trace_flags.", func(l *slog.Logger) { l.InfoContext(unsampled, "m") }, `{"msg":"m",` + ids + `,"trace_flags":"00"}`},
		"NoSpan":     {"Without a span no IDs are added.", func(l *slog.Logger) { l.InfoContext(t.Context(), "m") }, `{"msg":"m"}`},
		"NoContext":  {"Without a context there is nothing to add.", func(l *slog.Logger) { l.Info("m") }, `{"msg":"m"}`},
		"With":       {"Attributes of the logger come first.", func(l *slog.Logger) { l.With("a", 1).InfoContext(span, "m") }, `{"msg":"m","a":1,` + ids + `}`},
		"Group":      {"The IDs stay at the top level.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m", "a", 1) }, `{"msg":"m",` + ids + `,"g":{"a":1}}`},
		"EmptyGroup": {"A group without attributes is not written.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m") }, `{"msg":"m",` + ids + `}`},
		"NoName":     {"A group without a name is not opened.", func(l *slog.Logger) { l.WithGroup("").InfoContext(span, "m", "a", 1) }, `{"msg":"m","a":1,` + ids + `}`},
		"Groups": {"Each attribute stays in its group.", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").With("c", 3).InfoContext(span, "m", "d", 4)
		}, `{"msg":"m","a":1,` + ids + `,"g":{"b":2,"h":{"c":3,"d":4}}}`},
		"GroupsNoSpan": {"Without a span groups are the same as without this handler.", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").Info("m", "d", 4)
		}, `{"msg":"m","a":1,"g":{"b":2,"h":{"d":4}}}`},
		"Siblings": {"Two loggers made from one logger do not share attributes.", func(l *slog.Logger) {
			g := l.WithGroup("g").With("a", 1)
			g.With("b", 2)
			g.WithGroup("x")
			g.With("c", 3).InfoContext(span, "m")
		}, `{"msg":"m",` + ids + `,"g":{"a":1,"c":3}}`},
		"SiblingGroups": {"Two loggers made from one group do not share attributes.", func(l *slog.Logger) {
			g := l.WithGroup("a").WithGroup("b").WithGroup("c")
			x := g.WithGroup("x")
			g.WithGroup("y")
			x.InfoContext(span, "m", "k", 1)
		}, `{"msg":"m",` + ids + `,"a":{"b":{"c":{"x":{"k":1}}}}}`},
		"Bound": {"The IDs of the context's span take precedence over the logger's.", func(l *slog.Logger) {
			l.With("trace_id", "old", "span_id", "old", "trace_flags", "00", "a", 1).InfoContext(span, "m")
		}, `{"msg":"m","a":1,` + ids + `}`},
		"BoundNoSpan":  {"Without a span the logger's IDs stay.", func(l *slog.Logger) { l.With("trace_id", "old", "a", 1).Info("m") }, `{"msg":"m","a":1,"trace_id":"old"}`},
		"BoundTwice":   {"IDs that were bound twice are not repeated.", func(l *slog.Logger) { l.With("trace_id", "old").With("trace_id", "new", "span_id", "s").Info("m") }, `{"msg":"m","trace_id":"new","span_id":"s"}`},
		"BoundApart":   {"IDs that were bound one after the other stay.", func(l *slog.Logger) { l.With("trace_id", "t").With("span_id", "s").Info("m") }, `{"msg":"m","span_id":"s","trace_id":"t"}`},
		"BoundGroup":   {"IDs that were bound before a group are at the top level too.", func(l *slog.Logger) { l.With("trace_id", "old").WithGroup("g").Info("m", "a", 1) }, `{"msg":"m","trace_id":"old","g":{"a":1}}`},
		"BoundInGroup": {"IDs bound below a group go to the top level too.", func(l *slog.Logger) { l.WithGroup("g").With("trace_id", "old", "b", 2).Info("m", "a", 1) }, `{"msg":"m","trace_id":"old","g":{"b":2,"a":1}}`},
		"BoundInGroupSpan": {"IDs bound below a group are not repeated with a span.", func(l *slog.Logger) {
			l.WithGroup("g").With("trace_id", "old", "span_id", "old").InfoContext(span, "m", "a", 1)
		}, `{"msg":"m",` + ids + `,"g":{"a":1}}`},
		"Own":        {"A record may name another trace.", func(l *slog.Logger) { l.InfoContext(span, "m", "a", 1, "trace_id", "other", "b", 2) }, `{"msg":"m","a":1,"trace_id":"other","b":2}`},
		"OwnInGroup": {"A field of the same name in a group does not clash.", func(l *slog.Logger) { l.WithGroup("g").InfoContext(span, "m", "trace_id", "other") }, `{"msg":"m",` + ids + `,"g":{"trace_id":"other"}}`},
		"Disabled":   {"The handler below decides the level.", func(l *slog.Logger) { l.DebugContext(span, "m") }, ``},
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

// Several handlers may get one record.
func TestHandler_LeavesTheRecordAlone(t *testing.T) {
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
	for range 10 {
		r.Add("a", 1) // one by one, so that there is room for more
	}
	for range 2 {
		var out lines
		require.NoError(t, tracelog.Handler(out.handler()).Handle(inSpan(t.Context(), 8, trace.FlagsSampled), r))
		assert.NotContains(t, out.String(), "!BUG")
	}
}

// Every slog.Handler must keep these rules, with a span and without.
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
