// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
)

// Queue is a work queue with back-off that knows its state: the ready items,
// the items that wait for their time, the items that workers hold and for how
// long, and the items that fail and for how long. It is a
// [workqueue.TypedRateLimitingInterface] and behaves like client-go's. Two
// workers never hold the same item, an item is queued at most once, and of
// several delays the shortest counts. A test compares it with client-go's. Its
// methods are safe for concurrent use. Make it with [NewQueue]; the zero Queue
// cannot be used.
//
// client-go's own queue does not count items that wait for their time. This one
// counts as part of its work, in less time than client-go's with metrics. The
// price of an item does not depend on how many items workers hold.
type Queue[T comparable] struct {
	limiter workqueue.TypedRateLimiter[T]
	record  *metrics.Controller
	stop    func()
	epoch   time.Time // times below are since then

	mu       sync.Mutex
	wake     sync.Cond      // an item is ready, or the queue is shut down and no item is held
	items    map[T]*item[T] // the items in first, in ready and in held
	first    list[T]        // the ready items that workers take before the list ready, in this order
	ready    list[T]        // in the order in which workers take them
	held     list[T]        // by workers, the longest first
	spare    list[T]        // what the other lists no longer use
	delayed  map[T]*delay
	failing  map[T]*item[T] // those in failed
	failed   list[T]        // the items that fail, by their first failure
	adds     int64
	retries  int64
	shutting bool
	draining bool
}

// NewQueue makes a queue whose state is exported for c until it is shut down. A
// nil c exports nothing; a nil limiter is client-go's default for controllers.
// It starts nothing.
func NewQueue[T comparable](
	c *metrics.Controller,
	limiter workqueue.TypedRateLimiter[T],
) *Queue[T] {
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	q := &Queue[T]{
		limiter: limiter,
		record:  c,
		epoch:   time.Now(),
		items:   map[T]*item[T]{},
		delayed: map[T]*delay{},
		failing: map[T]*item[T]{},
	}
	q.wake.L = &q.mu
	q.stop = c.ObserveQueue(q.State)
	return q
}

// Add makes item ready unless it is ready already; an item that a worker holds
// is ready again when the worker is done. After ShutDown it does nothing.
func (q *Queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(item, false)
}

// AddFirst is AddAfter for an item that goes before all items of the other
// methods once it is ready: work that must not wait for a long queue. Items of
// AddFirst keep their order. An item that is ready already moves.
func (q *Queue[T]) AddFirst(item T, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfter(item, d, true)
}

func (q *Queue[T]) add(key T, first bool) {
	if q.shutting {
		return
	}
	i, ok := q.items[key]
	switch {
	case !ok:
		i = q.unused()
		i.key = key
		i.first = first
		q.items[key] = i
		q.push(i)
	case i.held:
		i.again = true
		i.first = i.first || first
	case first && !i.first:
		q.ready.remove(i)
		i.first = true
		q.first.push(i)
	}
}

// push makes an item ready that is in no list.
func (q *Queue[T]) push(i *item[T]) {
	q.adds++
	i.since = q.now()
	q.listOf(i).push(i)
	q.wake.Signal()
}

// listOf returns the list of a ready item.
func (q *Queue[T]) listOf(i *item[T]) *list[T] {
	if i.first {
		return &q.first
	}
	return &q.ready
}

// next returns the item that the next worker takes; nil if none is ready.
func (q *Queue[T]) next() *item[T] {
	if q.first.n > 0 {
		return q.first.first
	}
	return q.ready.first
}

// Len returns the number of items that are ready.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.first.n + q.ready.n
}

// Get blocks until an item is ready and hands it out, or returns shutdown when
// the queue is shut down and empty. Done must be called with the item.
func (q *Queue[T]) Get() (key T, shutdown bool) {
	q.mu.Lock()
	for q.next() == nil && !q.shutting {
		q.wake.Wait()
	}
	i := q.next()
	if i == nil {
		q.mu.Unlock()
		return key, true
	}
	now := q.now()
	waited := now - i.since
	key = i.key
	q.listOf(i).remove(i)
	i.first = false
	i.held = true
	i.since = now
	q.held.push(i)
	q.mu.Unlock()
	q.record.QueueWait(waited)
	return key, false
}

// Done says that the worker no longer holds item. For an item that no worker
// holds it does nothing.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.items[item]
	if !ok || !i.held {
		return
	}
	q.held.remove(i)
	i.held = false
	if i.again {
		i.again = false
		q.push(i)
	} else {
		delete(q.items, item)
		q.reuse(i)
	}
	if q.shutting && q.held.n == 0 {
		q.wake.Broadcast()
	}
}

// ShutDown ends the queue. It accepts no further items, drops items that wait
// for their time, still hands out ready items, and ends the queue's metrics.
func (q *Queue[T]) ShutDown() { q.shutDown(false) }

// ShutDownWithDrain shuts the queue down and waits until no worker holds an
// item. A call of ShutDown ends the wait. The metrics of the queue end when it
// returns.
func (q *Queue[T]) ShutDownWithDrain() { q.shutDown(true) }

func (q *Queue[T]) shutDown(drain bool) {
	q.mu.Lock()
	q.shutting = true
	q.draining = drain
	q.dropDelayed()
	q.wake.Broadcast()
	for q.draining && q.held.n > 0 {
		q.wake.Wait()
	}
	q.mu.Unlock()
	q.stop() // without mu: it asks for the state
}

// ShuttingDown reports whether the queue was shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutting
}

func (q *Queue[T]) now() time.Duration { return time.Since(q.epoch) }
