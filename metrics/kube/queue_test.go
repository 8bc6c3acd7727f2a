// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
)

var _ workqueue.TypedRateLimitingInterface[string] = (*kube.Queue[string])(nil)

// take gets an item that must be ready.
func take(t *testing.T, q workqueue.TypedInterface[string]) string {
	t.Helper()
	if q.Len() == 0 {
		assert.Fail(t, "no item is ready")
		return ""
	}
	item, shutdown := q.Get()
	assert.False(t, shutdown)
	return item
}

func backOff(d time.Duration) workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](d, time.Hour)
}

// The state and the metrics of a queue at each step of its items.
//
//req:shows O2
func TestQueueState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		q := kube.NewQueue(m.Controller("c"), backOff(10*time.Second))
		assert.Equal(t, metrics.QueueState{}, q.State(), "an empty queue")

		q.Add("a")
		q.Add("a")
		q.Add("b")
		assert.Equal(t, metrics.QueueState{Depth: 2, Adds: 2}, q.State(), "an item is queued once")

		<-time.After(3 * time.Second)
		assert.Equal(t, 3*time.Second, q.State().Oldest)
		assert.Equal(t, "a", take(t, q))
		<-time.After(2 * time.Second)
		assert.Equal(t, "b", take(t, q))
		<-time.After(time.Second)
		assert.Equal(t, metrics.QueueState{
			Running: 2, Adds: 2, Unfinished: 4 * time.Second, Longest: 3 * time.Second,
		}, q.State())

		q.Add("a") // while a worker holds it
		assert.Zero(t, q.State().Depth, "it is not ready before the worker is done")
		q.Done("a")
		assert.Equal(t, metrics.QueueState{Depth: 1, Running: 1, Adds: 3, Unfinished: time.Second, Longest: time.Second}, q.State())
		assert.Equal(t, "a", take(t, q))
		q.Done("a")

		q.AddRateLimited("b") // failed
		q.Done("b")
		q.AddAfter("c", time.Hour)
		assert.Equal(t, metrics.QueueState{Delayed: 2, Adds: 3, Retries: 1}, q.State(), "items that wait for their time are counted; a delay alone is not a retry")
		assert.Equal(t, map[string]string{
			`controller_queue_depth{controller="c"}`:                   "0",
			`controller_queue_delayed{controller="c"}`:                 "2",
			`controller_queue_adds_total{controller="c"}`:              "3",
			`controller_queue_retries_total{controller="c"}`:           "1",
			`controller_queue_oldest_seconds{controller="c"}`:          "0",
			`controller_queue_unfinished_work_seconds{controller="c"}`: "0",
			`controller_queue_longest_running_seconds{controller="c"}`: "0",
			`controller_queue_failing{controller="c"}`:                 "0",
			`controller_queue_longest_failing_seconds{controller="c"}`: "0",
		}, without(scrape(t, ep, "controller_queue_"), "wait"))

		<-time.After(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, metrics.QueueState{Depth: 1, Delayed: 1, Adds: 4, Retries: 1, LongestFailing: 10 * time.Second}, q.State())
		assert.Equal(t, 1, q.NumRequeues("b"))
		q.Forget("b")
		assert.Zero(t, q.NumRequeues("b"))
		q.ShutDown()
	})
}

// without drops the series whose name contains part.
func without(series map[string]string, part string) map[string]string {
	maps.DeleteFunc(series, func(name, _ string) bool { return strings.Contains(name, part) })
	return series
}

func TestQueueWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ep := newSet(t)
		q := kube.NewQueue(m.Controller("c"), backOff(time.Second))
		q.AddAfter("a", time.Minute)
		<-time.After(time.Minute + 3*time.Second)
		synctest.Wait()
		take(t, q)
		got := scrape(t, ep, "queue_wait_duration_seconds")
		assert.Equal(t, "3", got[`controller_queue_wait_duration_seconds_sum{controller="c"}`], "the wait counts three seconds as ready, without the delay")
		assert.Equal(t, "1", got[`controller_queue_wait_duration_seconds_count{controller="c"}`])
	})
}

func TestQueueKeepsTheEarlierTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := kube.NewQueue[string](nil, backOff(time.Second))
		q.AddAfter("a", 10*time.Second)
		q.AddAfter("a", 20*time.Second)
		q.AddAfter("a", 5*time.Second)
		assert.Equal(t, int64(1), q.State().Delayed, "one item waits once")
		<-time.After(6 * time.Second)
		synctest.Wait()
		assert.Equal(t, metrics.QueueState{Depth: 1, Adds: 1, Oldest: time.Second}, q.State())
		take(t, q)
		q.Done("a")
		<-time.After(time.Hour)
		assert.Zero(t, q.Len(), "a replaced time does not make the item ready again")
	})
}

// The longest duration is a valid delay.
func TestQueueDelayWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := kube.NewQueue[string](nil, backOff(time.Second))
		<-time.After(time.Second)
		q.AddAfter("a", math.MaxInt64)
		q.AddAfter("a", 50*time.Millisecond)
		q.AddAfter("a", math.MaxInt64)
		<-time.After(50 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, metrics.QueueState{Depth: 1, Adds: 1}, q.State())
		q.ShutDown()
	})
}

func TestQueueAddsAtOnceWithoutADelay(t *testing.T) {
	q := kube.NewQueue[string](nil, nil)
	q.AddAfter("a", 0)
	q.AddAfter("b", -time.Second)
	assert.Equal(t, 2, q.Len())
}

func TestQueueShutDown(t *testing.T) {
	cases := map[string]struct {
		reason string
		end    func(*kube.Queue[string])
		waits  bool
	}{
		"ShutDown":          {"Ready items are still handed out.", (*kube.Queue[string]).ShutDown, false},
		"ShutDownWithDrain": {"The same, but it waits for the workers.", (*kube.Queue[string]).ShutDownWithDrain, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, ep := newSet(t)
				q := kube.NewQueue(m.Controller("c"), backOff(time.Second))
				q.Add("held")
				take(t, q)
				q.Add("ready")
				q.AddAfter("later", time.Second)
				ended := make(chan struct{})
				go func() {
					tc.end(q)
					close(ended)
				}()
				synctest.Wait()
				assert.True(t, q.ShuttingDown())
				assert.Zero(t, q.State().Delayed, "waiting items are dropped")
				select {
				case <-ended:
					assert.False(t, tc.waits)
				default:
					assert.True(t, tc.waits)
				}
				q.Add("new")
				q.AddAfter("new", time.Second)
				q.AddRateLimited("new")
				<-time.After(time.Hour)
				assert.Equal(t, "ready", take(t, q), tc.reason)
				q.Done("ready")
				q.Done("held")
				_, shutdown := q.Get()
				assert.True(t, shutdown, "no further item is handed out")
				<-ended
				assert.Equal(t, metrics.QueueState{Adds: 2}, q.State())
				assert.Empty(t, without(scrape(t, ep, "controller_queue_"), "wait"), "the series of the queue end")
			})
		})
	}
}

// A queue that is not shut down leaves nothing running: synctest fails the test
// otherwise.
func TestNewQueueStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := kube.NewQueue[string](nil, nil)
		q.Add("a")
		q.Done(take(t, q))
		q.Done("never added")
	})
}

// TestQueue_AddFirst_GoesBeforeAllOtherItems in each state of an item.
func TestQueue_AddFirst_GoesBeforeAllOtherItems(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		add    func(q *kube.Queue[string])
		want   []string
	}{
		"New":     {"It goes before what is ready.", func(q *kube.Queue[string]) { q.AddFirst("x", 0) }, []string{"x", "a", "b"}},
		"Ready":   {"An item that is ready moves.", func(q *kube.Queue[string]) { q.AddFirst("b", 0) }, []string{"b", "a"}},
		"Several": {"Items of AddFirst keep their order.", func(q *kube.Queue[string]) { q.AddFirst("y", 0); q.AddFirst("x", 0); q.AddFirst("y", 0) }, []string{"y", "x", "a", "b"}},
		"Added":   {"Add does not move it back.", func(q *kube.Queue[string]) { q.AddFirst("x", 0); q.Add("x") }, []string{"x", "a", "b"}},
		"Delayed": {"It goes first once its time has come.", func(q *kube.Queue[string]) { q.AddFirst("x", time.Second) }, []string{"x", "a", "b"}},
		"AddAfter": {
			"A later time of another method changes neither.",
			func(q *kube.Queue[string]) { q.AddFirst("x", time.Second); q.AddAfter("x", time.Hour) },
			[]string{"x", "a", "b"},
		},
		"Earlier": {
			"At the earlier of two times it goes first.",
			func(q *kube.Queue[string]) { q.AddFirst("x", time.Hour); q.AddAfter("x", time.Second) },
			[]string{"x", "a", "b"},
		},
		"Held": {
			"An item that a worker holds goes first when the worker is done.",
			func(q *kube.Queue[string]) {
				q.AddFirst("x", 0)
				x, _ := q.Get()
				q.AddFirst("x", 0)
				q.Done(x)
			},
			[]string{"x", "a", "b"},
		},
		"Once": {
			"The next Add of the item is an ordinary one.",
			func(q *kube.Queue[string]) {
				q.AddFirst("x", 0)
				x, _ := q.Get()
				q.Done(x)
				q.Add("x")
			},
			[]string{"a", "b", "x"},
		},
		"Never": {"Without it the order is the one of Add.", func(*kube.Queue[string]) {}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := kube.NewQueue[string](nil, nil)
				q.Add("a")
				q.Add("b")
				tc.add(q)
				<-time.After(2 * time.Second)
				synctest.Wait()
				assert.Equal(t, int64(len(tc.want)), q.State().Depth, tc.reason)
				assert.Equal(t, 2*time.Second, q.State().Oldest, "a moved item keeps its time")
				var got []string
				for q.Len() > 0 {
					got = append(got, take(t, q))
				}
				assert.Equal(t, tc.want, got, tc.reason)
				q.ShutDown()
			})
		})
	}
}
