// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
)

func TestWhenAnExemplarIsReplaced(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]struct {
		reason string
		later  time.Duration
		want   int64
	}{
		"AtOnce":  {"Scrapes are seconds apart, so no scrape would show it.", 0, 1},
		"Before":  {"Within one second the first exemplar is kept.", time.Second - 1, 1},
		"After":   {"After a second a newer exemplar replaces it, because old traces expire.", time.Second, 2},
		"SetBack": {"After a clock was set back, an exemplar from the future is replaced.", -time.Hour, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &reservoir{bounds: []float64{10}}
			r.Offer(t.Context(), at, exemplar.NewValue[int64](1), nil)
			r.Offer(t.Context(), at.Add(tc.later), exemplar.NewValue[int64](2), nil)
			var got []exemplar.Exemplar
			r.Collect(&got)
			if assert.Len(t, got, 1) {
				assert.Equal(t, tc.want, got[0].Value.Int64(), tc.reason)
			}
		})
	}
}
