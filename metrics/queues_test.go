// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics"
)

// Prometheus takes a counter that falls for a restarted process, and counts all
// of it a second time.
func TestTheCountsOfQueuesNeverFall(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	counts := func() [2]string {
		got := scrape(t, ep)
		return [2]string{got[`controller_queue_adds_total{controller="c"}`], got[`controller_queue_retries_total{controller="c"}`]}
	}
	large := metrics.QueueState{Adds: 100_000, Retries: 10}
	broken := false
	stopLarge := c.ObserveQueue(func() metrics.QueueState {
		if broken {
			panic("broken")
		}
		return large
	})
	small := metrics.QueueState{Depth: 3, Adds: 1000, Retries: 1}
	stopSmall := c.ObserveQueue(func() metrics.QueueState { return small })
	assert.Equal(t, [2]string{"101000", "11"}, counts())

	small.Adds += 5
	stopSmall()
	stopSmall()
	small.Adds += 100
	assert.Equal(t, [2]string{"101005", "11"}, counts(), "the counts until it stopped are added once")
	assert.Equal(t, "0", scrape(t, ep)[`controller_queue_depth{controller="c"}`], "its items are gone")

	large.Adds++
	assert.Equal(t, [2]string{"101006", "11"}, counts())
	broken = true
	assert.Empty(t, with(scrape(t, ep), "controller_queue_"), "a queue whose state panics costs the series, and no counter falls")
	assert.NotPanics(t, stopLarge)
	assert.Equal(t, [2]string{"", ""}, counts(), "no queue, no series")

	c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Adds: 2} })
	assert.Equal(t, [2]string{"101008", "11"}, counts(), "and the next one goes on from there")
}

// The state function of a queue may itself stop the queue, and its counts may
// grow after its metrics have ended.
func TestAQueueThatEndsItself(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{} })
	var stop func()
	state := metrics.QueueState{Adds: 7}
	stop = c.ObserveQueue(func() metrics.QueueState {
		stop()
		state.Adds++
		return state
	})
	first := scrape(t, ep)[`controller_queue_adds_total{controller="c"}`]
	assert.Equal(t, first, scrape(t, ep)[`controller_queue_adds_total{controller="c"}`])
	assert.Equal(t, "8", first)
}
