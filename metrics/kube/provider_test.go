// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics/kube"
)

func newQueue(provider workqueue.MetricsProvider) workqueue.TypedRateLimitingInterface[string] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Second)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "c", MetricsProvider: provider})
}

// end shuts q down and lets time pass until its goroutine has ended. In
// client-go v0.34 that goroutine looks only at the next tick of its clock,
// every 500 ms.
func end(q workqueue.TypedRateLimitingInterface[string]) {
	q.ShutDown()
	<-time.After(time.Second)
}

// TestQueueProvider_ExportsClientGosQueue: also the next queue of the provider,
// whose counters go on.
//
//req:shows O2
func TestQueueProvider_ExportsClientGosQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		provider, err := kube.QueueProvider(m.Controller("c"))
		require.NoError(t, err)
		assert.Equal(t, "0", scrape(t, ep, "adds")[`controller_queue_adds_total{controller="c"}`])
		q := newQueue(provider)
		q.Add("a")
		q.Add("b")
		q.AddAfter("later", time.Hour)
		<-time.After(2 * time.Second)
		q.Get()
		<-time.After(3*time.Second + 250*time.Millisecond)
		synctest.Wait()
		got := scrape(t, ep, "controller_queue_")
		assert.Equal(t, "1", got[`controller_queue_depth{controller="c"}`])
		assert.Equal(t, "2", got[`controller_queue_adds_total{controller="c"}`])
		assert.Equal(t, "1", got[`controller_queue_retries_total{controller="c"}`])
		assert.Equal(t, "3", got[`controller_queue_unfinished_work_seconds{controller="c"}`])
		assert.Equal(t, "3", got[`controller_queue_longest_running_seconds{controller="c"}`])
		assert.Equal(t, "2", got[`controller_queue_wait_duration_seconds_sum{controller="c"}`])

		end(q) // and its states do not change
		again := newQueue(provider)
		defer end(again)
		again.Add("x")
		got = scrape(t, ep, "controller_queue_")
		assert.Equal(t, "1", got[`controller_queue_depth{controller="c"}`])
		assert.Equal(t, "3", got[`controller_queue_adds_total{controller="c"}`], "a counter never falls")
		assert.Equal(t, "0", got[`controller_queue_unfinished_work_seconds{controller="c"}`])
		assert.Equal(t, "0", got[`controller_queue_longest_running_seconds{controller="c"}`])
	})
}

// TestQueueProvider_RefusesASecondOfTheController: the queues of two clusters
// would mix.
func TestQueueProvider_RefusesASecondOfTheController(t *testing.T) {
	m, _ := newSet(t)
	_, err := kube.QueueProvider(m.Controller("c"))
	require.NoError(t, err)
	second, err := kube.QueueProvider(m.Controller("c"))
	require.ErrorContains(t, err, "metrics: already in use: the controller \"c\"")
	assert.Nil(t, second)
	_, err = kube.QueueProvider(m.Scope("east").Controller("c"))
	require.NoError(t, err)
}

func TestQueueProvider_WithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, err := kube.QueueProvider(nil)
		require.NoError(t, err)
		q := newQueue(provider)
		q.AddRateLimited("a")
		q.Get()
		q.Done("a")
		end(q)
	})
}
