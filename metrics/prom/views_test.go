// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// A view drops an instrument, changes its buckets or drops a label. The first
// view that matches an instrument counts, and no series comes twice.
func TestViews_ChangeInstruments(t *testing.T) {
	var reports []error
	ep, err := prom.New(prom.Options{
		NoProcessMetrics: true, Exemplars: true, OnError: func(err error) { reports = append(reports, err) },
		Views: []sdkmetric.View{
			sdkmetric.NewView(sdkmetric.Instrument{Name: "controller.client.*"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}}),
			sdkmetric.NewView(sdkmetric.Instrument{Name: "controller.queue.wait.duration"},
				sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{7}}}),
			sdkmetric.NewView(sdkmetric.Instrument{Name: "controller.*"}, sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter("controller")}),
		},
	})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	m.ClientWait(t.Context(), time.Second)
	for _, name := range []string{"a", "b"} {
		c := m.Controller(name)
		c.QueueWait(time.Second)
		result := metrics.Error
		c.Begin().End(sampled(t.Context(), 1), &result)
	}
	page := scrape(t, ep, "application/openmetrics-text; version=1.0.0").Body.String()
	assert.NotContains(t, page, "controller_client", "dropped")
	assert.Contains(t, page, `controller_queue_wait_duration_seconds_bucket{controller="a",le="7.0"} 1`)
	assert.Contains(t, page, `controller_reconcile_duration_seconds_count{result="error"} 2`, "the label is dropped, and the values add up")
	assert.Equal(t, 1, strings.Count(page, "\ncontroller_reconcile_active "), "one series, not one for each controller")
	assert.Contains(t, page, "trace_id=", "a view keeps the exemplars")
	assert.Empty(t, reports)

	_, err = prom.New(prom.Options{Views: []sdkmetric.View{nil}})
	require.ErrorIs(t, err, prom.ErrOption)
	require.ErrorContains(t, err, "Options.Views[0]: nil is not accepted; want a view")
}

// Prometheus refuses a page in which a bucket has two labels le.
func TestScrape_RefusesTheAttributeOfBuckets(t *testing.T) {
	var reports []error
	ep, err := prom.New(prom.Options{NoProcessMetrics: true, OnError: func(err error) { reports = append(reports, err) }})
	require.NoError(t, err)
	meter := ep.Meter("theirs")
	h, err := meter.Float64Histogram("h", metric.WithExplicitBucketBoundaries(1))
	require.NoError(t, err)
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("a", "x")))
	c, err := meter.Int64Counter("c")
	require.NoError(t, err)
	c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	page := scrape(t, ep, "").Body.String()
	assert.Contains(t, page, `h_count{a="x"} 1`)
	assert.NotContains(t, page, `h_count{le="x"}`)
	assert.Contains(t, page, `c_total{le="x"} 1`, "a counter has no buckets")
	require.Len(t, reports, 1)
	require.ErrorContains(t, reports[0], `a series of h: the attribute "le" is not accepted; want another name`)
}
