// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
)

// State returns the state of the queue at this moment.
func (q *Queue[T]) State() metrics.QueueState {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := metrics.QueueState{
		Depth: int64(q.ready.len()), Delayed: int64(len(q.delayed)), Running: int64(len(q.running)),
		Adds: q.adds, Retries: q.retries,
	}
	if since, ok := q.ready.oldest(); ok {
		s.Oldest = now - since
	}
	for _, r := range q.running {
		age := now - r.since
		s.Unfinished += age
		s.Longest = max(s.Longest, age)
	}
	return s
}

// store is the place where client-go's queue keeps what is ready, and sees every item come and go, in order, under the
// lock of the queue.
type store[T comparable] Queue[T]

var _ workqueue.Queue[string] = (*store[string])(nil)

// Touch is called when an item that is ready is added again.
func (s *store[T]) Touch(T) {}

// Push makes item ready.
func (s *store[T]) Push(item T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adds++
	s.ready.push(item, s.now())
}

// Pop hands the oldest item to a worker.
func (s *store[T]) Pop() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, since := s.ready.pop()
	now := s.now()
	s.running[item] = running{since: now, waited: now - since}
	return item
}

// Len returns the number of items that are ready.
func (s *store[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.len()
}

func (s *store[T]) now() time.Duration { return (*Queue[T])(s).now() }

// fifo is a first-in first-out buffer of items with the time since which each is in it.
type fifo[T any] struct {
	entries []entry[T]
	head    int // entries before it are gone
}

type entry[T any] struct {
	item  T
	since time.Duration
}

func (f *fifo[T]) len() int { return len(f.entries) - f.head }

func (f *fifo[T]) oldest() (since time.Duration, ok bool) {
	if f.len() == 0 {
		return 0, false
	}
	return f.entries[f.head].since, true
}

func (f *fifo[T]) push(item T, since time.Duration) {
	f.entries = append(f.entries, entry[T]{item, since})
}

// pop is called only when there is an item. It keeps at most half of the buffer dead, and nothing alive that is gone.
func (f *fifo[T]) pop() (item T, since time.Duration) {
	e := f.entries[f.head]
	f.entries[f.head] = entry[T]{}
	f.head++
	if 2*f.head >= len(f.entries) {
		n := copy(f.entries, f.entries[f.head:])
		clear(f.entries[n:])
		f.entries, f.head = f.entries[:n], 0
	}
	if cap(f.entries) > keep && len(f.entries) == 0 {
		f.entries = nil
	}
	return e.item, e.since
}

// keep is the size of a buffer that an empty queue holds on to.
const keep = 1024
