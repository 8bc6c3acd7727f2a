// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// settle puts e where it belongs: into its lane when something of it may be
// written, among the waiting entries when something may be written later, and
// on a list when it may make room for others. mu must be held.
func (r *Recorder) settle(e *entry, now instant) {
	if e.busy || r.closed {
		return
	}
	s, at := e.work(r.perObject, now, r.flushers > 0)
	switch {
	case s == nil:
		r.plan.remove(e)
	case at <= now:
		r.plan.add(e, s.class(), now)
		r.notify()
	default:
		r.plan.postpone(e, at)
		if r.plan.later[0] == e {
			r.notify()
		}
	}
	claim := e.claim()
	switch {
	case claim == firstWarning:
		e.unlink()
	case claim == firstNormal:
		e.move(&r.normals, true)
	case e.forgotten && s == nil && e.bucket.full(now):
		r.remove(e)
	case e.forgotten && s == nil:
		e.series = nil // nothing is pending
		e.move(&r.idle, false)
	default:
		e.move(&r.idle, true)
	}
}

// move puts e at the front or the back of l.
func (e *entry) move(l *list, front bool) {
	e.unlink()
	if front {
		l.pushFront(e)
	} else {
		l.pushBack(e)
	}
}

// makeRoom reports whether there is room for one more object of l. It drops an
// entry with only an update to write. If there is none and l is healthy, it
// drops an entry in a suspect lane. If there is none and the newcomer is a
// Warning, it drops an entry with a first Normal.
func (r *Recorder) makeRoom(l *lane, warning bool, now instant) bool {
	if e := r.idle.back; e != nil && e.forgotten && e.bucket.full(now) {
		r.remove(e)
	}
	if l.suspect && r.plan.doubtful > max(r.o.MaxObjects/2, 1) {
		return false // the other half is for healthy namespaces
	}
	if len(r.entries) < r.o.MaxObjects {
		return true
	}
	victim := r.idle.back
	if victim == nil && !l.suspect && len(r.plan.suspects) > 0 {
		waiting := r.plan.suspects[0].ready
		victim = waiting[len(waiting)-1]
	}
	if victim == nil && warning {
		victim = r.normals.back
	}
	if victim == nil {
		return false
	}
	r.stats.Evicted++
	r.remove(victim)
	return true
}

// remove forgets e. Occurrences of an Event that is stored are suppressed,
// others are lost.
func (r *Recorder) remove(e *entry) {
	for s := e.series; s != nil; s = s.older {
		r.drop(s, s.pending, queueFull, noRoom)
	}
	e.unlink()
	r.plan.remove(e)
	r.plan.leave(e.lane)
	delete(r.entries, e.ref.key())
	r.signal()
}

const noRoom = "raise Options.MaxObjects or Options.TotalWritesPerSecond"

// drop gives up n pending occurrences of s: repeats of a stored Event are
// suppressed, others are lost.
func (r *Recorder) drop(s *series, n int64, c cause, detail string) {
	s.pending -= n
	if s.event != 0 && s.draft == nil {
		r.suppress(n)
	} else {
		r.lose(c, n, detail)
	}
	r.pending -= n
}

// newSeries adds a series to e. At MaxReasons the longest silent series makes
// room, unless it waits to be written. For a Warning, a waiting Normal makes
// room too.
func (r *Recorder) newSeries(e *entry, o *occurrence) *series {
	n := 0
	var silent, normal **series
	for at := &e.series; *at != nil; at = &(*at).older {
		n++
		switch s := *at; {
		case s.busy:
		case s.draft == nil && (silent == nil || s.seen < (*silent).seen):
			silent = at
		case s.draft != nil && s.class() != firstWarning && !s.warning && (normal == nil || s.seen > (*normal).seen):
			normal = at
		}
	}
	if n >= r.o.MaxReasons {
		if silent == nil && o.id.warning {
			silent = normal
		}
		if silent == nil {
			return nil
		}
		s := *silent
		r.drop(s, s.pending, queueFull, manyReasons)
		s.draft = nil
		*silent = s.older
	}
	s := &series{identity: o.id, older: e.series, first: true, pause: r.pause, state: o.failure || o.recovery, about: r.aboutOf(o)}
	e.series = s
	return s
}

const manyReasons = "more concurrent reasons than Options.MaxReasons for one object"
