// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics"
)

// A user's callback that fails breaks only its own numbers.
func TestFailingCallbackCostsItsOwnNumbersOnly(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m, err := metrics.New(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), metrics.Options{})
	require.NoError(t, err)
	c := m.Controller("c")
	c.Runs().JobMissing()
	var nothing map[string]int64
	c.ObserveQueue(func() metrics.QueueState { nothing["x"]++; return metrics.QueueState{} })
	m.Controller("well").ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Adds: 9} })
	m.ObserveConditions("Broken", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		panic(errors.New("password=hunter2"))
	})
	m.ObserveConditions("AgentRun", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 5}))
	m.Controller("later").Runs().JobMissing()

	var got metricdata.ResourceMetrics
	err = reader.Collect(t.Context(), &got)
	require.Error(t, err)
	assert.Contains(t, err.Error(), `controller "c": the state of a queue panicked: assignment to entry in nil map`)
	assert.Contains(t, err.Error(), `the count of objects of kind "Broken" panicked with a *errors.errorString`)
	assert.NotContains(t, err.Error(), "hunter2", "the value of a panic may hold anything")
	assert.Equal(t, int64(2), sum(t, got, "controller.missing_jobs"))
	assert.Equal(t, int64(9), sum(t, got, "controller.queue.adds"))
	var names []string
	for _, i := range got.ScopeMetrics[0].Metrics {
		names = append(names, i.Name)
	}
	assert.Contains(t, names, "controller.objects")
	assert.Contains(t, names, "controller.label_overflows")
}

// Concurrent records and scrapes, controllers that come and go, and the end of
// the set. The race detector checks it, and a deadlock fails it.
func TestScrapeWhileRecordingAndClosing(t *testing.T) {
	const workers, rounds = 4, 125_000 // with two records each: a million
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range rounds {
				r := metrics.Result(i % 8)
				c.Begin().End(t.Context(), &r)
				c.QueueWait(time.Millisecond)
				if i%1000 == 0 {
					passing := m.Controller("passing")
					stop := passing.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Depth: 1} })
					unobserve := m.ObserveConditions("Pod", counted(map[metrics.Condition]int64{{Type: "a", Status: "b"}: 1}))
					m.Leader("lease", i%2 == 0)
					unobserve()
					stop()
					passing.Close()
				}
			}
		})
	}
	recorded := make(chan struct{})
	go func() { wait.Wait(); close(recorded) }()
	scrapes := 0
	for open := true; open; scrapes++ {
		select {
		case <-recorded:
			open = false
		default:
		}
		assert.NotContains(t, body(t, ep), "NaN")
	}
	var total int
	for series, n := range with(scrape(t, ep), "controller_reconcile_duration_seconds_count") {
		assert.Equal(t, n, scrape(t, ep)[strings.Replace(series, "reconcile_duration_seconds_count", "reconciles_total", 1)])
		total++
	}
	assert.Equal(t, 8, total)
	assert.Positive(t, scrapes)

	for range 3 { // as many concurrent scrapes as the endpoint allows
		wait.Go(func() { assert.NoError(t, m.Close()) })
		wait.Go(func() { body(t, ep); c.Begin().End(t.Context(), nil) })
	}
	wait.Wait()
}

// TestObserveConditions_ShowsNoPartOfACount: a count that stops when it is
// asked to has not seen all objects.
func TestObserveConditions_ShowsNoPartOfACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t, metrics.Options{})
		release := make(chan struct{})
		defer close(release)
		m.Controller("c").ObserveQueue(func() metrics.QueueState { <-release; return metrics.QueueState{} })
		m.ObserveConditions("Run", func(ctx context.Context) iter.Seq2[metrics.Condition, int64] {
			return func(yield func(metrics.Condition, int64) bool) {
				if yield(metrics.Condition{Type: "Ready", Status: "True"}, 1) {
					<-ctx.Done()
				}
			}
		})
		assert.Empty(t, with(scrape(t, ep), "controller_objects"))
	})
}
