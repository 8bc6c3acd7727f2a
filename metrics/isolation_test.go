// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics"
)

// TestStateFunctions_OneThatHangsCostsItsOwnSeries, and one wait, and it is not
// called again while it hangs. When it returns, the series come back.
func TestStateFunctions_OneThatHangsCostsItsOwnSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reader := newSet(t, metrics.Options{})
		release := make(chan struct{})
		var calls atomic.Int64
		require.NoError(t, m.Controller("stuck").ObserveQueue(func() metrics.QueueState {
			calls.Add(1)
			<-release
			return metrics.QueueState{Depth: 5}
		}))
		require.NoError(t, m.Controller("well").ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Depth: 7} }))
		m.ObserveCache("stuck", func() time.Duration { <-release; return 0 })
		m.ObserveCache("well", func() time.Duration { return time.Second })
		m.ObserveConditions("Stuck", func(context.Context) iter.Seq2[metrics.Condition, int64] {
			<-release
			return func(func(metrics.Condition, int64) bool) {}
		})
		m.ObserveConditions("Well", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 3}))
		m.ObserveConditions("Stopped", func(ctx context.Context) iter.Seq2[metrics.Condition, int64] {
			return func(yield func(metrics.Condition, int64) bool) {
				if yield(metrics.Condition{Type: "Ready", Status: "True"}, 1) {
					<-ctx.Done() // and it does not yield the rest
				}
			}
		})

		start := time.Now()
		for range 3 {
			var all metricdata.ResourceMetrics
			err := reader.Collect(t.Context(), &all)
			require.ErrorContains(t, err, `the state of the queue of controller "stuck" did not return in time`)
			require.ErrorContains(t, err, `the age of the cache of "stuck" did not return in time`)
			require.ErrorContains(t, err, `the count of objects of kind "Stuck" did not return in time`)
			require.ErrorContains(t, err, `the count of objects of kind "Stopped" did not return in time`)
			got := seriesOf(all)
			assert.Contains(t, got, `controller.reconciles{controller="stuck",result="error"}`)
			assert.Empty(t, with(got, "controller.queue.depth", "stuck"))
			assert.InDelta(t, 7, got[`controller.queue.depth{controller="well"}`], 0)
			assert.Equal(t, map[string]float64{`controller.cache.age{resource="well"}`: 1}, with(got, "cache"))
			assert.Equal(t, map[string]float64{`controller.objects{condition="Ready",kind="Well",status="True"}`: 3}, with(got, "objects"))
		}
		assert.LessOrEqual(t, time.Since(start), 6*time.Second, "one wait a collection for all functions together")
		assert.Equal(t, int64(1), calls.Load())

		close(release)
		synctest.Wait()
		var all metricdata.ResourceMetrics
		_ = reader.Collect(t.Context(), &all)
		assert.InDelta(t, 5, seriesOf(all)[`controller.queue.depth{controller="stuck"}`], 0)
	})
}

// TestStateFunctions_OneThatPanicsCostsItsOwnSeries: the value of a panic may
// hold anything.
func TestStateFunctions_OneThatPanicsCostsItsOwnSeries(t *testing.T) {
	m, reader := newSet(t, metrics.Options{})
	var nothing map[string]int64
	require.NoError(t, m.Controller("c").ObserveQueue(func() metrics.QueueState { nothing["x"]++; return metrics.QueueState{} }))
	m.ObserveConditions("Broken", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		panic(errors.New("password=hunter2"))
	})
	m.ObserveCache("pods", func() time.Duration { return time.Second })
	var all metricdata.ResourceMetrics
	err := reader.Collect(t.Context(), &all)
	require.ErrorContains(t, err, `the state of the queue of controller "c" panicked: assignment to entry in nil map`)
	require.ErrorContains(t, err, `the count of objects of kind "Broken" panicked with a *errors.errorString`)
	assert.NotContains(t, err.Error(), "hunter2")
	got := seriesOf(all)
	assert.Contains(t, got, `controller.failing{controller="c",result="error"}`)
	assert.Contains(t, got, `controller.cache.age{resource="pods"}`)
	assert.Empty(t, with(got, "controller.queue.depth"))
	assert.Empty(t, with(got, "controller.objects"))
}

// TestStateFunctions_AShortCollection: with less than four seconds a function
// gets half of the time.
func TestStateFunctions_AShortCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reader := newSet(t, metrics.Options{})
		m.Controller("c")
		release := make(chan struct{})
		defer close(release)
		m.ObserveCache("stuck", func() time.Duration { <-release; return 0 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all metricdata.ResourceMetrics
		require.Error(t, reader.Collect(ctx, &all))
		require.NoError(t, ctx.Err())
		assert.Contains(t, seriesOf(all), `controller.reconciles{controller="c",result="error"}`)
	})
}

// TestMetrics_ConcurrentUse: the race detector checks it, and a deadlock fails
// it. State functions use the set.
func TestMetrics_ConcurrentUse(t *testing.T) {
	const workers, rounds = 4, 2_000
	m, reader := newSet(t, metrics.Options{})
	c := m.Controller("c")
	require.NoError(t, c.ObserveQueue(func() metrics.QueueState {
		m.Controller("c").SetWorkers(3)
		return metrics.QueueState{Depth: 1}
	}))
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			for range rounds {
				_ = reconcile(t.Context(), c, worker, 0, errRefused)
				c.QueueWait(time.Millisecond)
				east := m.Scope("east")
				stop := east.ObserveCache("pods", func() time.Duration { return time.Second })
				lease, err := east.Lease("agents")
				if err == nil {
					lease.Set(true)
					lease.Close()
				}
				c.Runs().Retention(1, 2, 3)
				stop()
			}
		})
	}
	ended := make(chan struct{})
	go func() { working.Wait(); close(ended) }()
	for open := true; open; {
		select {
		case <-ended:
			open = false
		default:
		}
		collect(t, reader)
	}
	got := collect(t, reader)
	assert.InDelta(t, workers*rounds, got[`controller.reconciles{controller="c",result="error"}`], 0)
	assert.InDelta(t, workers*rounds, got[`controller.reconcile.duration{controller="c",result="error"}`], 0)
	assert.InDelta(t, workers, got[`controller.failing{controller="c",result="error"}`], 0)
}

// TestSeries_AreBoundedByTheSDK: an alert asks for the attribute of the
// overflow.
func TestSeries_AreBoundedByTheSDK(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m, err := metrics.New(sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(100)), metrics.Options{})
	require.NoError(t, err)
	for key := range 1000 {
		m.ClientRequest(t.Context(), metrics.Request{Verb: "get", Resource: string(rune('a' + key)), Code: "2xx"}, 0)
	}
	got := with(collect(t, reader), "controller.client.requests")
	assert.LessOrEqual(t, len(got), 101)
	assert.InDelta(t, 1000-len(got)+1, got[`controller.client.requests{otel.metric.overflow="true"}`], 0, "no request is lost")
}
