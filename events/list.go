// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// A list is a queue of entries, linked through the entries themselves: an entry
// is on one list at most.
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
