// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"container/ring"

	corev1 "k8s.io/api/core/v1"
)

const noRoom = "raise Options.MaxObjects or Options.TotalWritesPerSecond"

const manyReasons = "one object has more reasons at a time than Options.MaxReasons: raise it"

// settle puts e where it belongs: into its lane when something of it may be
// written, among the waiting entries when something may be written later, and
// on a list when it may make room for others. mu must be held.
func (r *Recorder) settle(e *entry, now instant) {
	if e.busy || r.closed {
		return
	}
	s, at, urgency := e.work(now, r.flushers > 0)
	switch {
	case s == nil && e.forgotten:
		full := e.limiter.full(now)
		if full <= now {
			r.remove(e)
			return
		}
		e.series = nil
		e.enqueue(&r.plan.later, waiting, full)
	case s == nil:
		e.enqueue(nil, waiting, 0)
	case at > now:
		e.enqueue(&r.plan.later, waiting, at)
	case e.queue != &e.lane.ready || e.class != urgency: // otherwise it keeps its place
		e.enqueue(&e.lane.ready, urgency, now)
	}
	if s != nil {
		r.notify()
	}
	claim, _ := e.claim()
	e.wait(claim != update)
	e.move([...]*ring.Ring{firstWarning: nil, firstNormal: &r.normals, update: &r.idle}[claim])
}

// entry makes room for an object and returns what will be kept about it; nil
// when it finds none.
func (r *Recorder) entry(ref corev1.ObjectReference, eventtype string) *entry {
	namespace := cmp.Or(ref.Namespace, r.o.Namespace)
	l := r.plan.lanes[namespace]
	if l == nil {
		l = &lane{name: namespace}
	}
	if !r.makeRoom(l, eventtype == corev1.EventTypeWarning) {
		return nil
	}
	r.plan.lanes[namespace] = l
	l.members++
	e := &entry{ref: ref, lane: l, limiter: r.perObject.full()}
	e.place.Value = e
	r.entries[keyOf(ref)] = e
	return e
}

// makeRoom reports whether there is room for one more object of l. It drops an
// entry with only an update to write. If there is none and l is healthy, it
// drops an entry in a suspect lane. If there is none and the newcomer is a
// Warning, it drops an entry with a first Normal.
func (r *Recorder) makeRoom(l *lane, warning bool) bool {
	if !l.suspect && len(r.entries) < r.o.MaxObjects {
		return true // without a look at all namespaces
	}
	doubtful, waiting := r.plan.doubtful()
	if l.suspect && doubtful >= max(r.o.MaxObjects/2, 1) {
		return false // the other half is for healthy namespaces
	}
	if len(r.entries) < r.o.MaxObjects {
		return true
	}
	victim := back(&r.idle)
	if victim == nil && !l.suspect {
		victim = waiting
	}
	if victim == nil && warning {
		victim = back(&r.normals)
	}
	if victim == nil {
		return false
	}
	r.stats.Evicted++
	r.remove(victim)
	return true
}

// back returns the last entry of list, or nil.
func back(list *ring.Ring) *entry {
	e, _ := list.Prev().Value.(*entry)
	return e
}

// remove forgets e.
func (r *Recorder) remove(e *entry) {
	for s := e.series; s != nil; s = s.older {
		r.drop(s, s.pending, LostQueueFull, noRoom)
	}
	e.move(nil)
	e.wait(false)
	e.enqueue(nil, waiting, 0)
	if e.lane.members--; e.lane.members == 0 {
		delete(r.plan.lanes, e.lane.name)
	}
	delete(r.entries, keyOf(e.ref))
	r.notify()
}

// drop gives up n pending occurrences of s: repeats of a stored Event are
// suppressed, others are lost.
func (r *Recorder) drop(s *series, n int64, cause, detail string) {
	s.pending -= n
	r.stats.Pending -= n
	if s.event != 0 && s.draft == nil {
		r.stats.Suppressed += n
	} else {
		r.lose(cause, n, detail)
	}
}

// newSeries adds a series to e. At MaxReasons the longest silent series makes
// room, unless it waits to be written. For a Warning, the latest Normal that
// waits makes room too.
func (r *Recorder) newSeries(e *entry, o *occurrence) *series {
	n := 0
	var silent, normal **series
	for at := &e.series; *at != nil; at = &(*at).older {
		n++
		switch s := *at; {
		case s.busy:
		case s.draft == nil && (silent == nil || s.seen < (*silent).seen):
			silent = at
		case s.draft != nil && s.class() != firstWarning && s.eventtype == corev1.EventTypeNormal && (normal == nil || s.seen > (*normal).seen):
			normal = at
		}
	}
	if n >= r.o.MaxReasons {
		if silent == nil && o.eventtype == corev1.EventTypeWarning {
			silent = normal
		}
		if silent == nil {
			return nil
		}
		s := *silent
		r.drop(s, s.pending, LostQueueFull, manyReasons)
		*silent = s.older
	}
	s := &series{identity: o.identity, older: e.series, first: true, pause: r.pause, state: o.failure || o.recovery}
	if o.about != (about{}) {
		s.about = new(about)
		*s.about = o.about
	}
	e.series = s
	return s
}
