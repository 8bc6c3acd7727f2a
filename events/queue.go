// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "container/heap"

// A queue is a heap: the first item comes before the others.
type queue[T queued[T]] []T

// queued is what a queue holds: pointers that know their place.
type queued[T any] interface {
	comesBefore(other T) bool
	place() *place
}

// A place is where an item is: in at most one queue.
type place struct {
	queue heap.Interface
	index int
}

// first returns the first item, or nil.
func (q *queue[T]) first() (item T) {
	if len(*q) > 0 {
		item = (*q)[0]
	}
	return item
}

// enter puts item into q. It must be in no queue.
func (q *queue[T]) enter(item T) {
	item.place().queue = q
	heap.Push(q, item)
}

// leave takes item out of its queue, if it is in one. What orders the items
// may change only then.
func leave(item interface{ place() *place }) {
	at := item.place()
	if at.queue == nil {
		return
	}
	heap.Remove(at.queue, at.index)
	at.queue = nil
}

// Len is for package heap.
func (q *queue[T]) Len() int { return len(*q) }

// Less is for package heap.
func (q *queue[T]) Less(i, j int) bool { return (*q)[i].comesBefore((*q)[j]) }

// Swap is for package heap.
func (q *queue[T]) Swap(i, j int) {
	items := *q
	items[i], items[j] = items[j], items[i]
	items[i].place().index = i
	items[j].place().index = j
}

// Push is for package heap.
func (q *queue[T]) Push(x any) {
	item, _ := x.(T)
	item.place().index = len(*q)
	*q = append(*q, item)
}

// Pop is for package heap.
func (q *queue[T]) Pop() any {
	var none T
	last := len(*q) - 1
	item := (*q)[last]
	(*q)[last] = none
	*q = (*q)[:last]
	return item
}
