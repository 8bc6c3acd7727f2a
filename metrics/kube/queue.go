// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
)

// Queue is client-go's work queue with back-off, and with everything that happens in it counted: what is ready, what
// waits for its time, what workers hold and for how long. It is a [workqueue.TypedRateLimitingInterface] and behaves as
// client-go's does: an item is never held by two workers, is queued at most once, and of several delays the shortest
// counts. Make it with [NewQueue].
type Queue[T comparable] struct {
	base    *workqueue.Typed[T]
	limiter workqueue.TypedRateLimiter[T]
	record  *metrics.Controller
	stop    func()
	epoch   time.Time

	mu       sync.Mutex // taken inside base's lock by store, so base is never called while it is held
	ready    fifo[T]
	running  map[T]running
	delayed  map[T]*delay
	adds     int64
	retries  int64
	shutting bool
}

// running is an item in the hands of a worker; times are since the epoch.
type running struct{ since, waited time.Duration }

// delay is an item that waits for its time.
type delay struct {
	due   time.Duration
	timer *time.Timer
}

// NewQueue makes a queue whose state is exported for c until it is shut down. A nil c exports nothing; a nil limiter is
// client-go's default for controllers.
func NewQueue[T comparable](c *metrics.Controller, limiter workqueue.TypedRateLimiter[T]) *Queue[T] {
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	q := &Queue[T]{
		limiter: limiter, record: c, epoch: time.Now(),
		running: map[T]running{}, delayed: map[T]*delay{},
	}
	// Without a name client-go looks for no metrics provider, so no global one counts the queue a second time.
	q.base = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Queue: (*store[T])(q)})
	q.stop = c.ObserveQueue(q.State)
	return q
}

// Add makes item ready unless it is ready already; an item that a worker holds is ready again when the worker is done.
// After ShutDown it does nothing.
func (q *Queue[T]) Add(item T) { q.base.Add(item) }

// Len returns the number of items that are ready.
func (q *Queue[T]) Len() int { return q.base.Len() }

// Get blocks until an item is ready and hands it out, or returns shutdown when the queue is shut down and empty. Done must
// be called with the item.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, shutdown = q.base.Get()
	if shutdown {
		return item, true
	}
	q.mu.Lock()
	waited := q.running[item].waited
	q.mu.Unlock()
	q.record.QueueWait(waited)
	return item, false
}

// Done says that the worker no longer holds item.
func (q *Queue[T]) Done(item T) {
	// Before base: from there on another worker may hold the item.
	q.mu.Lock()
	delete(q.running, item)
	q.mu.Unlock()
	q.base.Done(item)
}

// AddAfter makes item ready after d, at once when d is not positive. An item that already waits becomes ready at the
// earlier of the two times. After ShutDown it does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) {
	if d <= 0 {
		q.Add(item)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shutting {
		return
	}
	due := q.now() + d
	if have, ok := q.delayed[item]; ok {
		if have.due <= due {
			return
		}
		have.timer.Stop()
	}
	w := &delay{due: due}
	w.timer = time.AfterFunc(d, func() { q.fire(item, w) })
	q.delayed[item] = w
}

// fire makes item ready, unless its time was brought forward or the queue was shut down in the meantime.
func (q *Queue[T]) fire(item T, w *delay) {
	q.mu.Lock()
	current := q.delayed[item] == w
	if current {
		delete(q.delayed, item)
	}
	q.mu.Unlock()
	if current {
		q.base.Add(item)
	}
}

// AddRateLimited makes item ready when the rate limiter says so, and counts a retry.
func (q *Queue[T]) AddRateLimited(item T) {
	d := q.limiter.When(item)
	q.mu.Lock()
	if !q.shutting {
		q.retries++
	}
	q.mu.Unlock()
	q.AddAfter(item, d)
}

// Forget ends the back-off of item.
func (q *Queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues returns how often item failed since it was forgotten.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// ShutDown ends the queue: no item is accepted any more, items that wait for their time are dropped, items that are
// ready are still handed out, and the queue's metrics end.
func (q *Queue[T]) ShutDown() {
	q.dropDelayed()
	q.base.ShutDown()
	q.stop()
}

// ShutDownWithDrain is ShutDown, and returns when all items that are ready or held are done; the queue's metrics end then.
func (q *Queue[T]) ShutDownWithDrain() {
	q.dropDelayed()
	q.base.ShutDownWithDrain()
	q.stop()
}

// ShuttingDown reports whether the queue was shut down.
func (q *Queue[T]) ShuttingDown() bool { return q.base.ShuttingDown() }

func (q *Queue[T]) dropDelayed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutting = true
	for _, w := range q.delayed {
		w.timer.Stop()
	}
	clear(q.delayed)
}

func (q *Queue[T]) now() time.Duration { return time.Since(q.epoch) }
