// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build otlp

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	"github.com/proompteng/controllerkit/metrics"
)

// setAll sets variables of the process, which OpenTelemetry's library reads.
func setAll(t *testing.T, pairs []string) {
	t.Helper()
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
}

func TestExportersThatDoNotExist(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    []string
		says   []string
	}{
		"TracesTo":  {"The error names the value and the accepted ones.", []string{"OTEL_TRACES_EXPORTER=jaeger"}, []string{"OTEL_TRACES_EXPORTER", "jaeger", "otlp"}},
		"MetricsTo": {"The error names them here too.", []string{"OTEL_METRICS_EXPORTER=statsd"}, []string{"OTEL_METRICS_EXPORTER", "statsd", "otlp"}},
		"Protocol":  {"The library's own words are kept.", []string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=carrier-pigeon"}, []string{"OTEL_TRACES_EXPORTER", "grpc"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			setAll(t, tc.env)
			_, err := newTelemetry(t.Context(), environ(tc.env...))
			for _, want := range tc.says {
				require.ErrorContains(t, err, want, tc.reason)
			}
		})
	}
}

// TestACollectorThatHangs costs a stop at most its share of the grace of
// the pod.
func TestACollectorThatHangs(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer collector.Close()
	environment := []string{
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL,
		"OTEL_EXPORTER_OTLP_TIMEOUT=3600000", "OTEL_BSP_EXPORT_TIMEOUT=3600000",
	}
	setAll(t, environment)
	telemetry, err := newTelemetry(t.Context(), environ(environment...))
	require.NoError(t, err)
	failed := make(chan error, 10)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { failed <- err }))
	_, span := telemetry.tracer.Start(t.Context(), "reconcile")
	span.End()
	telemetry.shutdown(t.Context())
	assert.ErrorIs(t, <-failed, context.DeadlineExceeded)
}

// TestTheLastCountsAreSent: at its end the program sends the counts since the
// last interval.
func TestTheLastCountsAreSent(t *testing.T) {
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	environment := []string{
		"OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL,
		"OTEL_METRIC_EXPORT_INTERVAL=3600000",
	}
	setAll(t, environment)
	telemetry, err := newTelemetry(t.Context(), environ(environment...))
	require.NoError(t, err)
	m, err := metrics.New(telemetry.endpoint, metrics.Options{})
	require.NoError(t, err)
	m.Controller("agentrun").Events()
	telemetry.shutdown(t.Context())
	assert.Contains(t, sent.String(), "controller.events")
}
