// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"math"
	"time"
)

// delay is an item that waits for its time.
type delay struct {
	due   time.Duration
	first bool // see AddFirst
	timer *time.Timer
}

// AddAfter makes item ready after d, or immediately when d is not positive. An
// item that already waits becomes ready at the earlier of the two times. After
// ShutDown it does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfter(item, d, false)
}

// AddRateLimited makes item ready after the rate limiter's delay, and counts a
// retry. The item fails from its first AddRateLimited to its next Forget.
func (q *Queue[T]) AddRateLimited(item T) {
	d := q.limiter.When(item) // code of others, so without mu
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.shutting {
		q.retries++
		q.fail(item)
	}
	q.addAfter(item, d, false)
}

// Forget ends the back-off of item. The item no longer fails.
func (q *Queue[T]) Forget(item T) {
	q.limiter.Forget(item) // code of others, so without mu
	q.mu.Lock()
	defer q.mu.Unlock()
	q.succeed(item)
}

// NumRequeues returns how often item failed since it was forgotten.
func (q *Queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

func (q *Queue[T]) addAfter(item T, d time.Duration, first bool) {
	if d <= 0 || q.shutting {
		q.add(item, first)
		return
	}
	now := q.now()
	// A time that is past all times must not come before all others.
	due := now + min(d, math.MaxInt64-now)
	if have, ok := q.delayed[item]; ok {
		first = first || have.first
		have.first = first
		if have.due <= due {
			return
		}
		have.timer.Stop()
	}
	w := &delay{due: due, first: first}
	w.timer = time.AfterFunc(d, func() { q.fire(item, w) })
	q.delayed[item] = w
}

// fire makes item ready, unless its time was brought forward or the queue was
// shut down in the meantime.
func (q *Queue[T]) fire(item T, w *delay) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.delayed[item] == w {
		delete(q.delayed, item)
		q.add(item, w.first)
	}
}

func (q *Queue[T]) dropDelayed() {
	for _, w := range q.delayed {
		w.timer.Stop()
	}
	clear(q.delayed)
}
