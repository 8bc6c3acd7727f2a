// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/metrics"
)

func TestCloseOfAControllerRemovesItsStates(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	kept := m.Controller("kept")
	c := m.Controller("ended")
	c.Begin().End(t.Context(), ptr.To(metrics.Success))
	c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{} })
	c.SetWorkers(1)
	c.Close()
	c.Close()
	got := with(scrape(t, ep), `"ended"`)
	assert.NotEmpty(t, got, "OpenTelemetry cannot end the series of a histogram yet")
	for series := range got {
		assert.Contains(t, series, "controller_reconcile_duration_seconds")
	}
	assert.NotEmpty(t, with(scrape(t, ep), `"kept"`))

	c.Runs().JobMissing() // is not lost
	c.Begin().End(t.Context(), ptr.To(metrics.Success))
	assert.Same(t, c, m.Controller("ended"), "and the name can come back")
	after := scrape(t, ep)
	assert.Equal(t, "2", after[`controller_reconciles_total{controller="ended",result="success"}`], "counters never fall")
	assert.Equal(t, "1", after[`controller_missing_jobs_total{controller="ended"}`])
	kept.Close()
	assert.Empty(t, with(scrape(t, ep), `"kept"`))
}

func TestCloseKeepsTheSharedRecorder(t *testing.T) {
	m, ep := newSet(t, metrics.Options{MaxControllers: 1})
	m.Controller("a")
	m.Controller("b").Close()
	assert.NotEmpty(t, with(scrape(t, ep), `"other"`), "other controllers may still use it")
}

func TestCloseOfTheSetRemovesAllStates(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	exercise(t, m)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	for series := range with(scrape(t, ep), "controller_") {
		assert.Contains(t, series, "duration_seconds")
	}
	exercise(t, m) // recorders that outlive the set do no harm
}

func TestStopEndsTheSeriesOfAQueue(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	stop := c.ObserveQueue(func() metrics.QueueState { return metrics.QueueState{Depth: 4} })
	assert.Equal(t, "4", scrape(t, ep)[`controller_queue_depth{controller="c"}`])
	stop()
	stop()
	assert.Empty(t, with(scrape(t, ep), "controller_queue_"), "a queue that was shut down has no series")
}

// On one series a second observation adds to a counter and overwrites a gauge,
// so the sum is computed before.
func TestQueuesOfOneControllerAddUp(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	state := func() metrics.QueueState {
		return metrics.QueueState{
			Depth: 1, Delayed: 2, Running: 3, Adds: 4, Retries: 5,
			Oldest: 6 * time.Second, Unfinished: 7 * time.Second, Longest: 8 * time.Second,
			Failing: 9, LongestFailing: 10 * time.Second,
		}
	}
	c.ObserveQueue(state)
	c.ObserveQueue(state)
	c.ObserveQueue(func() metrics.QueueState { // knows its depth only
		return metrics.QueueState{
			Depth: 10, Delayed: -1, Running: -1, Adds: -1, Retries: -1, Oldest: -1, Unfinished: -1, Longest: -1,
			Failing: -1, LongestFailing: -1,
		}
	})
	assert.Equal(t, map[string]string{
		`controller_queue_depth{controller="c"}`:                   "12",
		`controller_queue_delayed{controller="c"}`:                 "4",
		`controller_queue_adds_total{controller="c"}`:              "8",
		`controller_queue_retries_total{controller="c"}`:           "10",
		`controller_queue_oldest_seconds{controller="c"}`:          "6",
		`controller_queue_unfinished_work_seconds{controller="c"}`: "14",
		`controller_queue_longest_running_seconds{controller="c"}`: "8",
		`controller_queue_failing{controller="c"}`:                 "18",
		`controller_queue_longest_failing_seconds{controller="c"}`: "10",
	}, with(scrape(t, ep), "controller_queue_"))
}

func TestUnknownStateOfAQueueIsNotShown(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	m.Controller("c").ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Delayed: -1, Oldest: -1, Failing: -1, LongestFailing: -1}
	})
	got := scrape(t, ep)
	assert.Equal(t, "0", got[`controller_queue_depth{controller="c"}`])
	assert.Empty(t, with(got, "queue_delayed"))
	assert.Empty(t, with(got, "queue_oldest"))
	assert.Empty(t, with(got, "failing"))
}

func TestQueueWait(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	c := m.Controller("c")
	c.QueueWait(2 * time.Second)
	c.QueueWait(-time.Second)
	assert.Equal(t, "2", scrape(t, ep)[`controller_queue_wait_duration_seconds_sum{controller="c"}`])
	assert.Equal(t, "2", scrape(t, ep)[`controller_queue_wait_duration_seconds_count{controller="c"}`])
}

// Waits of 50 µs look like 50 µs: histogram_quantile interpolates within the
// bucket that has the quantile, so both its bounds must be near.
func TestWaits_OfMicrosecondsAreShownAsSuch(t *testing.T) {
	m, ep := newSet(t, metrics.Options{})
	for range 100 {
		m.Controller("c").QueueWait(50 * time.Microsecond)
		m.ClientWait(t.Context(), 50*time.Microsecond)
	}
	for name, labels := range map[string]string{"controller_queue_wait": `controller="c",`, "controller_client_limiter_wait": ""} {
		got := scrape(t, ep)
		bucket := name + "_duration_seconds_bucket{" + labels + `le="`
		assert.Equal(t, "100", got[bucket+`5e-05"}`], name)
		assert.Equal(t, "0", got[bucket+`2.5e-05"}`], name)
	}
}
