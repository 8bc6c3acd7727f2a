// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func named(provider workqueue.MetricsProvider, name string) workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(backOff(time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: provider})
}

// end shuts q down and lets time pass until its goroutine has ended. In
// client-go v0.34 that goroutine looks only at the next tick of its clock,
// every 500 ms.
func end(q workqueue.TypedRateLimitingInterface[string]) {
	q.ShutDown()
	<-time.After(time.Second)
}

// client-go's own queue through the provider, as controller-runtime's priority
// queue uses it.
func TestQueueProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		provider := kube.QueueProvider(m)
		q := named(provider, "c")
		q.Add("a")
		q.Add("b")
		q.AddAfter("later", time.Hour)
		<-time.After(2 * time.Second)
		take(t, q)
		<-time.After(3*time.Second + 250*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, map[string]string{
			`controller_queue_depth{controller="c"}`:                   "1",
			`controller_queue_adds_total{controller="c"}`:              "2",
			`controller_queue_retries_total{controller="c"}`:           "1",
			`controller_queue_unfinished_work_seconds{controller="c"}`: "3",
			`controller_queue_longest_running_seconds{controller="c"}`: "3",
		}, without(scrape(t, ep, "controller_queue_"), "wait"), "numbers that client-go does not report are not exported")
		assert.Equal(t, "2", scrape(t, ep, "wait")[`controller_queue_wait_duration_seconds_sum{controller="c"}`])

		end(q) // and its numbers do not change
		again := named(provider, "c")
		defer end(again)
		again.Add("x")
		got := scrape(t, ep, "controller_queue_")
		assert.Equal(t, "1", got[`controller_queue_depth{controller="c"}`], "a second queue of the name replaces the first")
		assert.Equal(t, "3", got[`controller_queue_adds_total{controller="c"}`], "the new queue continues the counts: a counter never falls")
		assert.Equal(t, "0", got[`controller_queue_unfinished_work_seconds{controller="c"}`])

		second := named(provider, "d")
		defer end(second)
		assert.Equal(t, "0", scrape(t, ep, "depth")[`controller_queue_depth{controller="d"}`])
		assert.Equal(t, "1", scrape(t, ep, "depth")[`controller_queue_depth{controller="c"}`])
	})
}

func TestQueueProviderWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := named(kube.QueueProvider(nil), "c")
		q.Add("a")
		take(t, q)
		q.Done("a")
		end(q)
	})
}

// A QueueProvider keeps bounded state for any number of queues.
func TestQueueProviderIsBounded(t *testing.T) {
	m, ep := newSet(t)
	provider := kube.QueueProvider(m)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		provider.NewDepthMetric(strconv.FormatUint(random.Uint64(), 36)).Inc()
	}
	depths := scrape(t, ep, "controller_queue_depth")
	require.Len(t, depths, 151)
	sum := 0.0
	for _, depth := range depths {
		n, err := strconv.ParseFloat(depth, 64)
		require.NoError(t, err)
		sum += n
	}
	assert.InDelta(t, 100_000, sum, 0, "no queue ends another")
}

// Queues beyond the bound share one state: a second queue of one of their names
// must not end the others.
func TestQueueProvider_QueuesBeyondTheBoundAddUp(t *testing.T) {
	ep, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{MaxControllers: 1})
	require.NoError(t, err)
	p := kube.QueueProvider(m)
	p.NewDepthMetric("first")
	p.NewDepthMetric("a").Inc()
	b := p.NewDepthMetric("b")
	b.Inc()
	p.NewDepthMetric("a").Inc() // the program made queue a again
	b.Inc()
	assert.Equal(t, "4", scrape(t, ep, "controller_queue_depth")[`controller_queue_depth{controller="other"}`])
}
