// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// A queue is a heap whose items know their place in it, so that any of them can
// leave.
type queue[T queued[T]] []T

type queued[T any] interface {
	before(other T) bool
	// place points to the item's index plus one; zero means in no queue.
	place() *int32
}

// put adds x, or restores the order after x has changed.
func (q *queue[T]) put(x T) {
	if *x.place() == 0 {
		*q = append(*q, x)
		*x.place() = int32(len(*q))
	}
	if i := int(*x.place()) - 1; !q.up(i) {
		q.down(i)
	}
}

// remove takes x out; x is in q or in no queue.
func (q *queue[T]) remove(x T) {
	i := int(*x.place()) - 1
	if i < 0 {
		return
	}
	last := len(*q) - 1
	q.swap(i, last)
	var none T
	(*q)[last] = none
	*q = (*q)[:last]
	*x.place() = 0
	if i < last && !q.up(i) {
		q.down(i)
	}
}

func (q *queue[T]) up(i int) (moved bool) {
	for i > 0 && (*q)[i].before((*q)[(i-1)/2]) {
		q.swap(i, (i-1)/2)
		i, moved = (i-1)/2, true
	}
	return moved
}

func (q *queue[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(*q); child++ {
			if (*q)[child].before((*q)[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}

func (q *queue[T]) swap(i, j int) {
	h := *q
	h[i], h[j] = h[j], h[i]
	*h[i].place(), *h[j].place() = int32(i+1), int32(j+1)
}
