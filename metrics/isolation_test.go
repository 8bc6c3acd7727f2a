// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// A function that hangs costs its own series and one wait, and is not called
// again while it hangs. When it returns, the series come back.
func TestAFunctionThatHangsCostsItsOwnSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []error
		ep, err := prom.New(prom.Options{OnError: func(err error) { reported = append(reported, err) }})
		require.NoError(t, err)
		m, err := metrics.New(ep, metrics.Options{})
		require.NoError(t, err)
		release := make(chan struct{})
		var calls atomic.Int64
		stuck := m.Controller("stuck")
		stuck.ObserveQueue(func() metrics.QueueState {
			calls.Add(1)
			<-release
			return metrics.QueueState{Adds: 5}
		})
		stuck.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Adds: 2} })
		m.Controller("well").ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Adds: 7} })
		m.ObserveCache("stuck", func() time.Duration {
			<-release
			return 0
		})
		m.ObserveConditions("Stuck", func(context.Context) iter.Seq2[metrics.Condition, int64] {
			<-release
			return func(func(metrics.Condition, int64) bool) {}
		})
		m.ObserveConditions("Well", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 3}))

		start := time.Now()
		for scrapes := range 3 {
			got := scrape(t, ep)
			assert.Empty(t, with(got, "controller_queue_", `"stuck"`), "a sum that lacks a queue would fall")
			assert.Equal(t, "0", got[`controller_reconciles_total{controller="stuck",result="error"}`])
			assert.Equal(t, "7", got[`controller_queue_adds_total{controller="well"}`])
			assert.Equal(t, map[string]string{`controller_objects{condition="Ready",kind="Well",status="True"}`: "3"}, with(got, "controller_objects"))
			require.Len(t, reported, scrapes+1, "once for each scrape")
			require.ErrorContains(t, reported[scrapes], `controller "stuck": the state of a queue did not return in time`)
			require.ErrorContains(t, reported[scrapes], `the age of the cache of "stuck" did not return in time`)
			require.ErrorContains(t, reported[scrapes], `the count of objects of kind "Stuck" did not return in time`)
		}
		assert.Equal(t, 2*time.Second, time.Since(start), "one wait for all functions together")
		assert.Equal(t, int64(1), calls.Load())

		close(release)
		synctest.Wait()
		assert.Equal(t, "7", scrape(t, ep)[`controller_queue_adds_total{controller="stuck"}`])
		assert.Len(t, reported, 3)
	})
}

// A queue whose state hangs can be stopped.
func TestAQueueThatHangsCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t, metrics.Options{})
		release := make(chan struct{})
		stop := m.Controller("c").ObserveQueue(func() metrics.QueueState {
			<-release
			return metrics.QueueState{}
		})
		scrape(t, ep)
		stop()
		assert.Empty(t, with(scrape(t, ep), "controller_queue_"))
		close(release)
	})
}
