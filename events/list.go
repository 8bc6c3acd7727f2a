// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "container/heap"

// A list is a queue of entries, linked through the entries themselves: an entry is on one list at most.
type list struct {
	front, back *entry
	len         int
}

func (l *list) pushFront(e *entry) {
	e.on, e.prev, e.next = l, nil, l.front
	if l.front != nil {
		l.front.prev = e
	} else {
		l.back = e
	}
	l.front = e
	l.len++
}

func (l *list) pushBack(e *entry) {
	e.on, e.prev, e.next = l, l.back, nil
	if l.back != nil {
		l.back.next = e
	} else {
		l.front = e
	}
	l.back = e
	l.len++
}

// unlink takes e off the list it is on, if any.
func (e *entry) unlink() {
	l := e.on
	if l == nil {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.front = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.back = e.prev
	}
	e.on, e.prev, e.next = nil, nil, nil
	l.len--
}

// timers holds the entries that wait for an instant, the earliest first. An entry knows its own place plus one, so that the
// zero entry is in none.
type timers []*entry

// Len, Less, Swap, Push and Pop are for container/heap alone.
func (t *timers) Len() int           { return len(*t) }
func (t *timers) Less(i, j int) bool { return (*t)[i].at < (*t)[j].at }

func (t *timers) Swap(i, j int) {
	h := *t
	h[i], h[j] = h[j], h[i]
	h[i].timer, h[j].timer = int32(i+1), int32(j+1)
}

func (t *timers) Push(x any) {
	if e, ok := x.(*entry); ok {
		*t = append(*t, e)
		e.timer = int32(len(*t))
	}
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	e.timer = 0
	return e
}

func (t *timers) add(e *entry) { heap.Push(t, e) }

func (t *timers) remove(e *entry) {
	if e.timer > 0 {
		heap.Remove(t, int(e.timer)-1)
	}
}
