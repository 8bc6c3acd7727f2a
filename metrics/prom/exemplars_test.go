// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// Each bucket serves its newest exemplar to within a second, also of integers.
// Scrapes and the readers of Options.Readers both get it.
func TestTheNewestExemplarOfEachBucket(t *testing.T) { synctest.Test(t, theNewestExemplarOfEachBucket) }

func theNewestExemplarOfEachBucket(t *testing.T) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	ep, err := prom.New(prom.Options{Exemplars: true, Readers: []sdkmetric.Reader{reader}})
	require.NoError(t, err)
	bounds := metric.WithExplicitBucketBoundaries(1, 10)
	seconds, err := ep.Meter("x").Float64Histogram("seconds", bounds)
	require.NoError(t, err)
	numbers, err := ep.Meter("x").Int64Histogram("numbers", bounds)
	require.NoError(t, err)
	record := func(id byte, value int64) {
		ctx := sampled(t.Context(), id)
		seconds.Record(ctx, float64(value))
		numbers.Record(ctx, value)
	}
	record(1, 20)
	record(2, 1)
	time.Sleep(time.Second)
	record(3, 30)
	time.Sleep(time.Second - 1)
	record(5, 30)
	record(4, 5)
	seconds.Record(t.Context(), 6) // no span, no exemplar
	for range 2 {                  // a collection keeps them, and the next one does not change what the first one returned
		var got metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &got))
		assert.Equal(t, map[float64]byte{1: 2, 5: 4, 30: 3}, exemplars[float64](t, got, "seconds"))
		assert.Equal(t, map[float64]byte{1: 2, 5: 4, 30: 3}, exemplars[int64](t, got, "numbers"))
	}
	scraped := scrape(t, ep, "application/openmetrics-text").Body.String()
	for _, want := range []string{
		`seconds_bucket\{le="1.0"\} 1 # \{.*trace_id="020{30}".*\} 1\.0 `,
		`seconds_bucket\{le="10.0"\} 3 # \{.*trace_id="040{30}".*\} 5\.0 `,
		`seconds_bucket\{le="\+Inf"\} 6 # \{.*trace_id="030{30}".*\} 30\.0 `,
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
	for _, m := range of.ScopeMetrics[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[N]); ok && m.Name == name {
			for _, e := range h.DataPoints[0].Exemplars {
				require.Equal(t, e.TraceID[:1], e.SpanID[:1])
				require.False(t, e.Time.IsZero())
				found[float64(e.Value)] = e.TraceID[0]
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
	require.ErrorIs(t, err, prom.ErrOption)
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
