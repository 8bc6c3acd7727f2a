// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// A bucket names the trace of a sampled span. Scrapes and Options.Readers both
// get it.
func TestExemplars_NameTheTraceOfABucket(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	ep := endpoint(t, prom.Options{Exemplars: true, Readers: []sdkmetric.Reader{reader}}, 1)
	seconds, err := ep.Meter("x").Float64Histogram("seconds", metric.WithExplicitBucketBoundaries(1, 10))
	require.NoError(t, err)
	seconds.Record(sampled(t.Context(), 2), 1)
	seconds.Record(sampled(t.Context(), 3), 20)
	seconds.Record(t.Context(), 6) // no span, no exemplar
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	assert.Equal(t, map[float64]byte{1: 2, 20: 3}, exemplars[float64](t, got, "seconds"))
	scraped := scrape(t, ep, "application/openmetrics-text").Body.String()
	for _, want := range []string{
		`seconds_bucket\{le="1.0"\} 1 # \{.*trace_id="020{30}".*\} 1\.0 `,
		`seconds_bucket\{le="10.0"\} 2\n`,
		`seconds_bucket\{le="\+Inf"\} 3 # \{.*trace_id="030{30}".*\} 20\.0 `,
	} {
		assert.Regexp(t, want, scraped)
	}
}

func sampled(ctx context.Context, id byte) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled,
	}))
}

// exemplars are the first bytes of their traces, by value.
func exemplars[N int64 | float64](t *testing.T, of metricdata.ResourceMetrics, name string) map[float64]byte {
	t.Helper()
	found := map[float64]byte{}
	for _, scope := range of.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[N]); ok && m.Name == name {
				for _, e := range h.DataPoints[0].Exemplars {
					require.Equal(t, e.TraceID[:1], e.SpanID[:1])
					require.False(t, e.Time.IsZero())
					found[float64(e.Value)] = e.TraceID[0]
				}
			}
		}
	}
	return found
}

// Measurements reach the readers, and Shutdown lets them send the last ones.
func TestReadersGetWhatIsScraped(t *testing.T) {
	sent := &exporter{}
	ep := endpoint(t, prom.Options{Readers: []sdkmetric.Reader{sdkmetric.NewPeriodicReader(sent)}}, 3)
	require.NoError(t, ep.Shutdown(t.Context()))
	assert.Contains(t, sent.names, "a.thing")
	assert.Contains(t, sent.names, "a.duration")

	_, err := prom.New(prom.Options{Readers: []sdkmetric.Reader{nil}})
	require.ErrorContains(t, err, "Readers[0]")
}

// exporter notes what it is given.
type exporter struct {
	sdkmetric.Exporter

	names []string
}

func (*exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (*exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (e *exporter) Export(_ context.Context, of *metricdata.ResourceMetrics) error {
	for _, m := range of.ScopeMetrics[0].Metrics {
		e.names = append(e.names, m.Name)
	}
	return nil
}

func (*exporter) ForceFlush(context.Context) error { return nil }
func (*exporter) Shutdown(context.Context) error   { return nil }
