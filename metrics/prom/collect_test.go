// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// A scrape of ten times the series costs ten times the allocations, not more.
//
//req:shows O1
func TestScrape_IsLinearInSeries(t *testing.T) {
	allocations := func(series int) float64 {
		ep, err := prom.New(prom.Options{Timeout: time.Minute})
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
