// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"container/heap"
)

// A queue is a heap of entries, ordered by class and then by instant. Entries
// move with [entry.enqueue].
type queue []*entry

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].class, q[j].class), cmp.Compare(q[i].at, q[j].at)) < 0
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = int32(i), int32(j)
}

// Push is for package heap.
func (q *queue) Push(x any) {
	e, _ := x.(*entry)
	e.index = int32(len(*q))
	*q = append(*q, e)
}

// Pop is for package heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}

// enqueue moves e from its queue to q, or out of all queues if q is nil.
func (e *entry) enqueue(q *queue, c class, at instant) {
	if e.queue != nil {
		heap.Remove(e.queue, int(e.index))
	}
	if e.queue, e.class, e.at = q, c, at; q != nil {
		heap.Push(q, e)
	}
}
