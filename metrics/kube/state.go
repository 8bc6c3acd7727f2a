// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"time"

	"github.com/proompteng/controllerkit/metrics"
)

// State returns the state of the queue at this moment.
func (q *Queue[T]) State() metrics.QueueState {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := metrics.QueueState{
		Depth: int64(q.ready.len()), Delayed: int64(len(q.delayed)), Running: int64(len(q.held)),
		Adds: q.adds, Retries: q.retries,
	}
	if q.ready.len() > 0 {
		s.Oldest = now - q.ready.first().since
	}
	for _, e := range q.held {
		s.Unfinished += now - e.since
	}
	if len(q.held) > 0 {
		s.Longest = now - q.held[0].since
	}
	return s
}

// entry is an item and the time since which it is where it is.
type entry[T any] struct {
	item  T
	since time.Duration
}

// fifo is a first-in first-out buffer.
type fifo[T any] struct {
	entries []entry[T]
	head    int // entries before it are gone
}

func (f *fifo[T]) len() int { return len(f.entries) - f.head }

func (f *fifo[T]) first() entry[T] { return f.entries[f.head] }

func (f *fifo[T]) push(e entry[T]) { f.entries = append(f.entries, e) }

// pop is called only when there is an entry. It keeps at most half of the buffer dead, and nothing alive that is gone.
func (f *fifo[T]) pop() entry[T] {
	e := f.first()
	f.entries[f.head] = entry[T]{}
	f.head++
	if 2*f.head >= len(f.entries) {
		n := copy(f.entries, f.entries[f.head:])
		clear(f.entries[n:])
		f.entries, f.head = f.entries[:n], 0
	}
	if len(f.entries) == 0 && cap(f.entries) > keep {
		f.entries = nil
	}
	return e
}

// keep is the size of a buffer that an empty queue holds on to.
const keep = 1024
