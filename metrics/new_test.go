// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func TestNewRefuses(t *testing.T) {
	var dropped *prom.Endpoint // what remains when the error of prom.New was not looked at
	ep, err := prom.New(prom.Options{})
	require.NoError(t, err)
	cases := map[string]struct {
		reason   string
		provider metric.MeterProvider
		options  metrics.Options
		want     error
		names    []string
	}{
		"NoProvider":    {"Nothing falls back to the global one.", nil, metrics.Options{}, metrics.ErrNoProvider, []string{"it is nil; pass a prom.Endpoint"}},
		"NilPointer":    {"A nil pointer in the interface counts as a nil provider.", dropped, metrics.Options{}, metrics.ErrNoProvider, []string{"it is nil; pass a prom.Endpoint"}},
		"ZeroEndpoint":  {"An endpoint that prom.New did not make gives no meter.", &prom.Endpoint{}, metrics.Options{}, metrics.ErrNoProvider, []string{"metrics: no usable meter provider: *prom.Endpoint gives no meter", "constructor"}},
		"NegativeBound": {"There is no unlimited setting.", ep, metrics.Options{MaxControllers: -1}, metrics.ErrOption, []string{"MaxControllers", "-1"}},
		"Refused":       {"New returns the provider's error for an instrument.", refusing{}, metrics.Options{}, errRefused, []string{"create instruments"}},
		"NoCallback":    {"New returns the provider's error for the callback.", refusing{callbacks: true}, metrics.Options{}, errRefused, []string{"register"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := metrics.New(tc.provider, tc.options)
			require.ErrorIs(t, err, tc.want, tc.reason)
			assert.Nil(t, m)
			for _, n := range tc.names {
				assert.Contains(t, err.Error(), n, tc.reason)
			}
		})
	}
}

// New works with a provider that does nothing, with a provider without a
// reader, and with two readers.
func TestProviders(t *testing.T) {
	manual, second := sdkmetric.NewManualReader(), sdkmetric.NewManualReader()
	cases := map[string]metric.MeterProvider{
		"NoOp":       noop.NewMeterProvider(),
		"NoReader":   sdkmetric.NewMeterProvider(),
		"TwoReaders": sdkmetric.NewMeterProvider(sdkmetric.WithReader(manual), sdkmetric.WithReader(second)),
	}
	for name, provider := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := metrics.New(provider, metrics.Options{})
			require.NoError(t, err)
			exercise(t, m)
		})
	}
	for _, r := range []*sdkmetric.ManualReader{manual, second, manual} {
		var got metricdata.ResourceMetrics
		require.NoError(t, r.Collect(t.Context(), &got))
		assert.Equal(t, int64(40), sum(t, got, "controller.queue.adds"), "each reader gets the right sum, each time")
	}
}

func sum(t *testing.T, rm metricdata.ResourceMetrics, name string) (total int64) {
	t.Helper()
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range data.DataPoints {
					total += p.Value
				}
			}
		}
	}
	return total
}

// TestTwoSetsOfOneProvider share their series, like all instruments of one name
// in the SDK: counts add up.
func TestTwoSetsOfOneProvider(t *testing.T) {
	first, ep := newSet(t, metrics.Options{})
	second, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	for _, m := range []*metrics.Metrics{first, second} {
		result := metrics.Success
		m.Controller("c").Begin().End(t.Context(), &result)
	}
	got := scrape(t, ep)
	assert.Equal(t, "2", got[`controller_reconcile_duration_seconds_count{controller="c",result="success"}`])
	assert.Equal(t, "2", got[`controller_reconciles_total{controller="c",result="success"}`])
}

func TestTwoSetsNeverMeet(t *testing.T) {
	first, firstEnd := newSet(t, metrics.Options{})
	second, secondEnd := newSet(t, metrics.Options{})
	first.Controller("c").Runs().JobMissing()
	second.Controller("c").Runs()
	assert.Equal(t, "1", scrape(t, firstEnd)[`controller_missing_jobs_total{controller="c"}`])
	assert.Equal(t, "0", scrape(t, secondEnd)[`controller_missing_jobs_total{controller="c"}`])
	for range 100 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			m, ep := newSet(t, metrics.Options{})
			exercise(t, m)
			assert.Equal(t, "1", scrape(t, ep)[`controller_missing_jobs_total{controller="agentrun"}`])
			require.NoError(t, m.Close())
			require.NoError(t, ep.Shutdown(context.WithoutCancel(t.Context())))
		})
	}
}
