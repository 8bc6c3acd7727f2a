// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

// saturate records with each name in every place that takes one, and with every
// result.
func saturate(t *testing.T, m *metrics.Metrics, names []string) {
	t.Helper()
	ctx := t.Context()
	words := []string{
		"emitted", "aggregated", "dropped",
		"unchanged", "written", "gone", "superseded", "replaced", "field_conflict", "conflict", "error",
	}
	for i, name := range names {
		c := m.Controller(name)
		r := metrics.Result(i % 10)
		c.Begin().End(ctx, &r)
		c.Runs().End(ctx, time.Minute, r)
		c.SetWorkers(1)
		c.Runs().Retention(time.Minute, time.Hour, time.Hour)
		c.QueueWait(time.Second)
		if i < 2000 { // each collection asks all of them
			c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{} })
		}
		for _, word := range append(words, name) {
			c.Events()(word, 1)
			c.StatusWrites()(word, time.Second)
		}
		m.Leader(name, i%2 == 0)
		m.ObserveCache(name, func() time.Duration { return time.Second })
		m.ClientRequest(ctx, metrics.Request{Verb: name, Group: "g", Resource: "r", Code: "2xx"}, time.Second)
		m.ClientRequest(ctx, metrics.Request{Verb: "get", Group: name, Resource: name, Code: name}, time.Second)
	}
	m.ClientWait(ctx, time.Second)
	m.ObserveConditions("Kind", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			for _, name := range names {
				if !yield(metrics.Condition{Type: name, Status: "True"}, 1) {
					return
				}
			}
		}
	})
}

//req:shows O2
func TestSeriesStayWithinMaxSeries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("%x", random.Uint64()>>random.UintN(64))
		if i%100 == 0 {
			names[i] += "\xff"
		}
	}
	few := metrics.Options{MaxControllers: 3}
	for n, o := range map[int]metrics.Options{len(names): {}, 5000: few} {
		m, ep := newSet(t, o)
		saturate(t, m, names[:n])
		series := scrape(t, ep)
		assert.LessOrEqual(t, len(with(series, "controller_")), m.MaxSeries(n), o)
		assert.Empty(t, with(series, "otel_metric_overflow"), "OpenTelemetry's own bound, which loses all labels, is never met")
	}
}

// The bound is tight: a scrape with everything that can be shown has exactly
// MaxSeries series.
func TestMaxSeriesIsReached(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprint("name-", i)
	}
	for _, n := range []int{1, 3} {
		m, ep := newSet(t, metrics.Options{MaxControllers: n})
		for _, name := range names[:n+1] { // each with all results, the last being "other"
			c := m.Controller(name)
			for r := range metrics.Result(9) {
				c.Begin().End(t.Context(), &r)
				c.Runs().End(t.Context(), time.Second, r)
			}
		}
		saturate(t, m, names)
		assert.Len(t, with(scrape(t, ep), "controller_"), m.MaxSeries(len(names)))
		assert.Equal(t, m.MaxSeries(n+1), m.MaxSeries(n+2), "one more than the bound, for \"other\"")
		assert.Less(t, m.MaxSeries(n), m.MaxSeries(n+1))
		assert.Equal(t, m.MaxSeries(0), m.MaxSeries(-1))
	}
}
