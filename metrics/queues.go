// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// queues are the queues of one controller. The lock is not held during a call
// of a queue's state function, which may wait for the caller that stops the
// queue.
type queues struct {
	mu    sync.Mutex
	live  []*queueSource
	ended QueueState // the counts of stopped queues; other fields are unknown
}

// queueSource is one queue.
type queueSource struct {
	state  func() QueueState
	call   isolate.Call[QueueState]
	ending bool
	ended  bool
	last   QueueState // its highest counts; other fields are unknown
}

// asked are the queues whose states were read, and the counts of the queues
// that had stopped by then.
type asked struct {
	sources []*queueSource
	runs    []*isolate.Run[QueueState]
	ended   QueueState
}

func unknownQueue() QueueState {
	return QueueState{
		Depth:          -1,
		Delayed:        -1,
		Running:        -1,
		Adds:           -1,
		Retries:        -1,
		Oldest:         -1,
		Unfinished:     -1,
		Longest:        -1,
		Failing:        -1,
		LongestFailing: -1,
	}
}

func (q *queues) add(s *queueSource) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.live = append(q.live, s)
}

// ask reads the states of all queues.
func (q *queues) ask() (a asked) {
	q.mu.Lock()
	a.sources = slices.Clone(q.live)
	a.ended = q.ended
	q.mu.Unlock()
	for _, s := range a.sources {
		a.runs = append(a.runs, s.call.Start(s.ask))
	}
	return a
}

func (s *queueSource) ask() (QueueState, error) { return s.state(), nil }

// answer is the state of a queue. Its counts never fall, even for a late
// collection that asks while the queue stops.
func (q *queues) answer(
	ctx context.Context,
	s *queueSource,
	run *isolate.Run[QueueState],
) (QueueState, error) {
	now, err := run.Wait(ctx)
	if err != nil {
		return now, fmt.Errorf("the state of a queue %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.ended {
		s.last.Adds = max(s.last.Adds, now.Adds)
		s.last.Retries = max(s.last.Retries, now.Retries)
	}
	now.Adds = s.last.Adds
	now.Retries = s.last.Retries
	return now, nil
}

// end removes a queue and adds its counts to the sum in one step. Collections
// report an error of its state function.
func (q *queues) end(s *queueSource) {
	q.mu.Lock()
	again := s.ending
	s.ending = true
	q.mu.Unlock()
	if again { // perhaps by state itself
		return
	}
	ctx, cancel := context.WithTimeout(background(), callersWait)
	defer cancel()
	// Not the collections' call, because state itself may have called.
	var last isolate.Call[QueueState]
	_, _ = q.answer(ctx, s, last.Start(s.ask))
	q.mu.Lock()
	defer q.mu.Unlock()
	s.ended = true
	q.ended = q.ended.plus(s.last)
	q.live = slices.DeleteFunc(q.live, func(have *queueSource) bool { return have == s })
}
