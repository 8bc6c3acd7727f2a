// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
)

// queues are the queues of one controller. The lock is not held while a queue is asked for its state, which may wait for
// whoever stops it.
type queues struct {
	mu    sync.Mutex
	live  []*queueSource
	ended QueueState // what those that stopped counted; all else is unknown
}

// queueSource is one queue.
type queueSource struct {
	state  func() QueueState
	ending bool
	ended  bool
	last   QueueState // the most that it counted; all else is unknown
}

func unknownQueue() QueueState {
	return QueueState{Depth: -1, Delayed: -1, Running: -1, Adds: -1, Retries: -1, Oldest: -1, Unfinished: -1, Longest: -1}
}

func (q *queues) add(s *queueSource) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.live = append(q.live, s)
}

// all returns the queues and what those before them counted.
func (q *queues) all() ([]*queueSource, QueueState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.live), q.ended
}

// read asks a queue for its state. What it counted never falls: not when state panics, and not for a collection that is
// late and asks while the queue stops.
func (q *queues) read(s *queueSource, fail func(error)) QueueState {
	now := unknownQueue()
	guard("the state of a queue", fail, func() { now = s.state() })
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.ended {
		s.last.Adds, s.last.Retries = max(s.last.Adds, now.Adds), max(s.last.Retries, now.Retries)
	}
	now.Adds, now.Retries = s.last.Adds, s.last.Retries
	return now
}

// end takes a queue out in one step with adding what it counted. That its state panics is told by collections.
func (q *queues) end(s *queueSource) {
	q.mu.Lock()
	again := s.ending
	s.ending = true
	q.mu.Unlock()
	if again { // perhaps by state itself
		return
	}
	q.read(s, func(error) {})
	q.mu.Lock()
	defer q.mu.Unlock()
	s.ended = true
	q.ended = q.ended.plus(s.last)
	if i := slices.Index(q.live, s); i >= 0 {
		q.live = slices.Delete(q.live, i, i+1)
	}
}
