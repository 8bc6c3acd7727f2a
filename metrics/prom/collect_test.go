// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestCollect_SharesNothingThatItWrites: concurrent collections get one page,
// whose errors may have room behind them. The race detector sees a collection
// that appends to them.
func TestCollect_SharesNothingThatItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reports []error
		ep := endpoint(t, prom.Options{OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, err)
		}}, 1)
		calls := 0
		for _, name := range []string{"a", "b", "c", "d"} { // one series four times: three errors, in an array of four
			_, err := ep.Meter(name).Int64ObservableGauge("theirs", metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				calls++
				o.Observe(7)
				time.Sleep(time.Second) // until all collections wait for it
				return nil
			}))
			require.NoError(t, err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				ch := make(chan prometheus.Metric, 100)
				ep.Collect(ch)
			})
		}
		all.Wait()
		assert.Equal(t, 4, calls, "they share one page")
		require.Len(t, reports, 4)
		for _, err := range reports {
			assert.Equal(t, 3, strings.Count(err.Error(), "there twice"), err)
		}
	})
}

// A scrape of ten times the series costs ten times the allocations, not more.
//
//req:shows O1
func TestScrape_IsLinearInSeries(t *testing.T) {
	allocations := func(series int) float64 {
		ep, err := prom.New(prom.Options{NoProcessMetrics: true})
		require.NoError(t, err)
		h, err := ep.Meter("x").Float64Histogram("h")
		require.NoError(t, err)
		c, err := ep.Meter("x").Int64Counter("c")
		require.NoError(t, err)
		for n := range series {
			of := metric.WithAttributes(attribute.Int("n", n))
			h.Record(t.Context(), 1, of)
			c.Add(t.Context(), 1, of)
		}
		return testing.AllocsPerRun(5, func() { text(t, ep) })
	}
	few := allocations(150)
	many := allocations(1500)
	assert.LessOrEqual(t, many, 11*few)
}
