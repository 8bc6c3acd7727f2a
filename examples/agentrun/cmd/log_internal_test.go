// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// TestUndelivered_IsLoggedOnce, although a collector that is away fails each
// export.
func TestUndelivered_IsLoggedOnce(t *testing.T) {
	var lines []string
	failed := undelivered(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	failed(errors.New("connection refused"))
	failed(errors.New("connection refused again"))
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "connection refused")
}

// TestALineOfZapHasOneTraceID: zap writes a field each time that a logger gets
// it. A span inside replaces the IDs, and a span that is not sampled is marked.
//
//req:shows O4
func TestALineOfZapHasOneTraceID(t *testing.T) {
	var out bytes.Buffer
	ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&out), zap.JSONEncoder()))
	span := func(id byte, flags trace.TraceFlags) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{id}, TraceFlags: flags})
	}
	ctx = tracelog.Bind(trace.ContextWithSpanContext(ctx, span(1, trace.FlagsSampled)))
	log.FromContext(ctx).Info("outer")
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("name", "a"))
	ctx = tracelog.Bind(trace.ContextWithSpanContext(ctx, span(2, 0)))
	log.FromContext(ctx).Info("inner")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Len(t, lines, 2)
	for n, want := range []string{`"span_id":"0100000000000000"`, `"name":"a","trace_id":"01000000000000000000000000000000","span_id":"0200000000000000","trace_flags":"00"`} {
		assert.Equal(t, 1, strings.Count(lines[n], `"trace_id"`), lines[n])
		assert.Contains(t, lines[n], want)
	}
}
