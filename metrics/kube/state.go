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
		Depth:   int64(q.first.n + q.ready.n),
		Delayed: int64(len(q.delayed)),
		Running: int64(q.held.n),
		Adds:    q.adds,
		Retries: q.retries,
	}
	if q.ready.first != nil {
		s.Oldest = now - q.ready.first.since
	}
	for i := q.first.first; i != nil; i = i.next { // an item that moved here kept its time
		s.Oldest = max(s.Oldest, now-i.since)
	}
	for i := q.held.first; i != nil; i = i.next {
		s.Unfinished += now - i.since
	}
	if q.held.first != nil {
		s.Longest = now - q.held.first.since
	}
	q.stateOfFailing(&s, now)
	return s
}

// item is an item that is ready, that a worker holds, or that fails. It is in
// one list at a time.
type item[T any] struct {
	key        T
	since      time.Duration // when it became ready, when a worker took it, or when it first failed
	first      bool          // see AddFirst
	held       bool
	again      bool // it was added while a worker holds it
	prev, next *item[T]
}

// list is a doubly linked list, so that removing an item costs the same at any
// position.
type list[T any] struct {
	first, last *item[T]
	n           int
}

func (l *list[T]) push(i *item[T]) {
	i.prev = l.last
	i.next = nil
	if l.last == nil {
		l.first = i
	} else {
		l.last.next = i
	}
	l.last = i
	l.n++
}

func (l *list[T]) remove(i *item[T]) {
	if i.prev == nil {
		l.first = i.next
	} else {
		i.prev.next = i.next
	}
	if i.next == nil {
		l.last = i.prev
	} else {
		i.next.prev = i.prev
	}
	i.prev = nil
	i.next = nil
	l.n--
}

// keep is how many unused items the queue keeps, so that it allocates nothing
// for an item in its normal state.
const keep = 1024

func (q *Queue[T]) unused() *item[T] {
	i := q.spare.last
	if i == nil {
		return new(item[T])
	}
	q.spare.remove(i)
	return i
}

// reuse keeps i for another item. Nothing of the old one stays alive.
func (q *Queue[T]) reuse(i *item[T]) {
	if q.spare.n < keep {
		*i = item[T]{}
		q.spare.push(i)
	}
}
