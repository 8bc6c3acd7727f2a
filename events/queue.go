// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "k8s.io/client-go/util/workqueue"

// The lines of a queue, the last first. updateLine and failingLine each have a
// tenth of the turns.
const (
	failingLine = iota // objects of a namespace that fails
	updateLine
	firstLine // objects with a first Event
	nextLine  // objects whose Event one API group refused, for the other one
	numLines
)

// A queue is the storage of client-go's queue. client-go calls it under a lock.
type queue struct {
	lines [numLines]line
	last  uint64 // ticket
	turns int
	n     int
}

// A line has objects in their order. An object that moved to another line has
// another ticket, and its old entry is passed over.
type line []entry

type entry struct {
	object *object
	ticket uint64
}

// An objectQueue is client-go's queue: it has each object once, and one worker
// has an object at a time.
type objectQueue = workqueue.TypedDelayingInterface[*object]

func newQueue() objectQueue { //nolint:ireturn // client-go returns an interface
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[*object]{
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[*object]{Queue: &queue{}}),
	})
}

// Push adds an object.
func (q *queue) Push(o *object) {
	q.n++
	q.put(o)
}

// Touch is called when an object is added again. It moves the object to a line
// that is ahead.
func (q *queue) Touch(o *object) {
	if o.line.Load() > o.queuedIn {
		q.put(o)
	}
}

func (q *queue) put(o *object) {
	q.last++
	o.ticket = q.last
	o.queuedIn = o.line.Load()
	to := &q.lines[o.queuedIn]
	*to = append(*to, entry{o, o.ticket})
}

// Len returns how many objects wait.
func (q *queue) Len() int { return q.n }

// Pop returns the next object. There must be one.
func (q *queue) Pop() *object {
	q.n--
	q.turns++
	order := []int{nextLine, firstLine, updateLine, failingLine}
	switch q.turns % 10 {
	case 0:
		order = []int{updateLine, nextLine, firstLine, failingLine}
	case 5:
		order = []int{failingLine, nextLine, firstLine, updateLine}
	}
	for _, i := range order {
		o := q.lines[i].pop()
		if o != nil {
			return o
		}
	}
	return nil
}

// pop returns the first object of a line, or nil.
func (l *line) pop() *object {
	for len(*l) > 0 {
		next := (*l)[0]
		(*l)[0] = entry{}
		*l = (*l)[1:]
		if next.object.ticket == next.ticket {
			return next.object
		}
	}
	return nil
}
