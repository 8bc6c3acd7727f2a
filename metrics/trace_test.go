// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// The span, the log line and the exemplar have the same trace ID, so that a
// dashboard links to the trace.
//
//req:shows O4
func TestExemplarAndLogLineNameTheSameTrace(t *testing.T) {
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	c := m.Controller("agentrun")
	var log bytes.Buffer
	logger := slog.New(tracelog.Handler(slog.NewJSONHandler(&log, nil)))
	tracer := sdktrace.NewTracerProvider().Tracer("test")

	reconcile := func(ctx context.Context) {
		result := metrics.Success
		ctx, span := tracer.Start(ctx, "reconcile")
		defer span.End()
		defer c.Begin().End(ctx, &result)
		ctx = tracelog.Bind(ctx)
		logr.FromContextOrDiscard(ctx).Info("created the job")
		logger.InfoContext(ctx, "done")
	}
	reconcile(logr.NewContextWithSlogLogger(t.Context(), logger))

	var lines []string
	for line := range bytes.Lines(log.Bytes()) {
		var fields struct {
			TraceID string `json:"trace_id"`
		}
		require.NoError(t, json.Unmarshal(line, &fields))
		lines = append(lines, fields.TraceID)
	}
	exemplars := regexp.MustCompile(`_bucket\{.*# \{.*trace_id="([0-9a-f]{32})"`).FindStringSubmatch(openMetrics(t, ep))
	require.Len(t, exemplars, 2, "the histogram has an exemplar")
	assert.Equal(t, []string{exemplars[1], exemplars[1]}, lines)
}

func TestNoExemplarWithoutASampledSpan(t *testing.T) {
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("test").Start(t.Context(), "reconcile")
	defer span.End()
	m.Controller("agentrun").Begin().End(ctx, ptr.To(metrics.Success))
	assert.NotContains(t, openMetrics(t, ep), "trace_id", "a link to a trace that was not stored leads nowhere")
}

// openMetrics is a scrape in the format that carries exemplars.
func openMetrics(t *testing.T, h http.Handler) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "openmetrics")
	return w.Body.String()
}
