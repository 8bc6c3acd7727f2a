// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package tracelog

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Handler adds trace_id and span_id to each record that is logged with the
// context of a span, at the top level also below WithGroup. For a span that is
// not sampled it adds trace_flags, whose lowest bit is 0, such as "00". No line
// has them twice. IDs in the record take precedence over the context's span,
// and the span over IDs that [Bind] or With gave the logger. A nil next is
// [slog.DiscardHandler].
func Handler(next slog.Handler) slog.Handler {
	if next == nil {
		next = slog.DiscardHandler
	}
	return &handler{top: next, plain: next}
}

// handler keeps the groups apart from next, because a handler whose group is
// open cannot write at the top level again.
type handler struct {
	top    slog.Handler // without the groups and their attributes
	plain  slog.Handler // with them: for records without IDs
	groups []group
	ids    []slog.Attr // bound by WithAttrs, for records whose context has no span
}

// group is an open group and the attributes in it.
type group struct {
	name  string
	attrs []slog.Attr
}

// Enabled asks the handler below.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.top.Enabled(ctx, level)
}

// WithAttrs adds attributes to the innermost group. The IDs stay at the top
// level.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	ids, rest := part(attrs)
	next.ids = merge(h.ids, ids)
	if n := len(h.groups); n > 0 {
		next.groups = slices.Clone(h.groups)
		next.groups[n-1].attrs = slices.Concat(h.groups[n-1].attrs, rest)
		next.plain = h.plain.WithAttrs(rest)
	} else {
		next.top = h.top.WithAttrs(rest)
		next.plain = next.top
	}
	return &next
}

// WithGroup opens a group.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.groups = append(slices.Clip(h.groups), group{name: name})
	next.plain = h.plain.WithGroup(name)
	return &next
}

// Handle writes the record.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	ids := h.ids
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		ids = idsOf(span)
	}
	switch {
	case len(ids) == 0:
		return h.plain.Handle(ctx, r)
	case len(h.groups) > 0:
		nested := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
		nested.AddAttrs(ids...)
		nested.AddAttrs(nest(h.groups, attrsOf(r)))
		return h.top.Handle(ctx, nested)
	case !names(r):
		r = r.Clone()
		r.AddAttrs(ids...)
	}
	return h.top.Handle(ctx, r)
}

// idsOf is fields for slog, without their allocations.
func idsOf(span trace.SpanContext) []slog.Attr {
	ids := []slog.Attr{
		slog.String(traceID, span.TraceID().String()),
		slog.String(spanID, span.SpanID().String()),
	}
	if !span.IsSampled() {
		ids = append(ids, slog.String(traceFlags, span.TraceFlags().String()))
	}
	return ids
}

// names reports whether the record itself names its trace.
func names(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = isID(a)
		return !found
	})
	return found
}

// nest puts attrs into the groups, the last being the innermost.
func nest(groups []group, attrs []slog.Attr) slog.Attr {
	var nested slog.Attr
	for _, g := range slices.Backward(groups) {
		nested = slog.Attr{Key: g.name, Value: slog.GroupValue(slices.Concat(g.attrs, attrs)...)}
		attrs = []slog.Attr{nested}
	}
	return nested
}

func attrsOf(r slog.Record) []slog.Attr {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	return attrs
}

// part separates the IDs from the rest.
func part(attrs []slog.Attr) (ids, rest []slog.Attr) {
	for _, a := range attrs {
		if isID(a) {
			ids = append(ids, a)
		} else {
			rest = append(rest, a)
		}
	}
	return ids, rest
}

func isID(a slog.Attr) bool { return a.Key == traceID || a.Key == spanID || a.Key == traceFlags }

// merge returns the IDs of both, each once. IDs in second take precedence.
func merge(first, second []slog.Attr) []slog.Attr {
	merged := slices.Clone(second)
	for _, a := range first {
		if !slices.ContainsFunc(merged, func(have slog.Attr) bool { return have.Key == a.Key }) {
			merged = append(merged, a)
		}
	}
	return merged
}
