// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"container/ring"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An entry is what a Recorder keeps about one object. Its cap is charged
// when a request has ended, and at most one request about an object is under
// way: so the cap holds on the API server even if a request takes long.
type entry struct {
	ref         corev1.ObjectReference
	lane        *lane
	limiter     limiter
	series      *series
	lastFailure string  // the reason that Recovered will name; empty when nothing is open
	conflicted  instant // the first of the conflicts in a row that opened no failure

	queue *queue // of its lane if it may be written, or schedule.later; nil when nothing waits
	at    instant
	index int32
	class class

	busy      bool // a request about it is under way
	forgotten bool
	waits     bool       // a new Event of it waits, or is being written
	list      *ring.Ring // idle or normals; nil while it must not make room
	place     ring.Ring  // in list; its Value is the entry
}

// wait says whether a new Event of e waits. What waits in a suspect lane takes
// at most half of the room.
func (e *entry) wait(waits bool) {
	if e.waits {
		e.lane.waiting--
	}
	if e.waits = waits; waits {
		e.lane.waiting++
	}
}

// move puts e at the front of list, or on no list if that is nil.
func (e *entry) move(list *ring.Ring) {
	e.place.Prev().Unlink(1)
	if e.list = list; list != nil {
		list.Link(&e.place)
	}
}

// A series is every occurrence of one identity about one object. A waiting
// series absorbs its repeats, so MaxObjects bounds the queue as well.
type series struct {
	identity
	about *about // nil where there is neither a related object nor a field path
	older *series
	draft *draft // what a new Event will say; nil when only a count has to be written, or nothing

	hash    uint64 // of the last note without its generated words; 0 makes any note a changed one
	exact   uint64 // of the last note, so that the same one is not looked through again
	event   int64  // the number in the name of the Event that is counted up; 0 while none is stored
	count   int64  // the occurrences that Event reports
	pending int64  // the occurrences that no write has reported

	since, seen instant // the first occurrence that is pending, and the last of all
	due         instant // the earliest next write
	retry       instant // after an attempt that failed
	pause       time.Duration
	failing     instant  // the first failure of one kind in a row
	denied      bool     // that kind: denials, or faults
	refused     string   // why nothing is stored, after a write that no retry can save
	refusal     *refusal // of one API group: the next attempt asks the other one
	state       bool     // it reports failures or recoveries
	first       bool     // nothing was written yet: ahead of updates
	busy        bool     // a request of it is under way
}

// An identity and an about tell the series of one object apart.
type identity struct {
	eventtype, reason, action string
}

// about has the other references of an Event.
type about struct {
	related   corev1.ObjectReference
	fieldPath string
}

// A draft is a new Event before it is stored.
type draft struct {
	text        string // not redacted yet
	annotations map[string]string
	number      int64 // in its name; 0 before the first attempt
	carried     int64 // the occurrences that an unsure attempt reported
	unsure      bool  // an attempt may have been stored
	renamed     bool  // its name was taken
}

// find returns the series of o, or nil.
func (e *entry) find(o *occurrence) *series {
	for s := e.series; s != nil; s = s.older {
		if s.identity == o.identity && (s.about == nil && o.about == about{} || s.about != nil && *s.about == o.about) {
			return s
		}
	}
	return nil
}

// claim is the class of the most urgent draft of e, which must not be dropped
// for another object; update when there is none or only a changed note.
func (e *entry) claim() (most class, drafts int) {
	most = update
	for s := e.series; s != nil; s = s.older {
		if s.draft != nil {
			most = min(most, s.class())
			drafts++
		}
	}
	return most, drafts
}

func (s *series) class() class {
	switch {
	case !s.first:
		return update
	case s.eventtype == corev1.EventTypeWarning || s.state:
		return firstWarning
	}
	return firstNormal
}

// work returns the series of e to write next, the earliest instant for it, and
// how urgent that is; nil when there is nothing to write. At that instant the
// lowest class is first, and in it the oldest. With hurry no pause counts. An
// object shows last what it is now, failing or recovered: what it was is
// written before.
func (e *entry) work(now instant, hurry bool) (best *series, at instant, urgency class) {
	token, since := e.limiter.ready(now), instant(0)
	for s := e.series; s != nil; s = s.older {
		if s.pending == 0 {
			continue
		}
		first := e.before(s)
		when := max(token, s.retry, first.retry)
		if !hurry {
			when = max(when, s.due)
		}
		if best == nil || cmp.Or(cmp.Compare(when, at), cmp.Compare(s.class(), urgency), cmp.Compare(s.since, since)) <= 0 {
			best, at, urgency, since = first, when, s.class(), s.since
		}
	}
	return best, at, urgency
}

// before returns what must be written before s, or s itself. If the draft of s
// shows what the object is now, failing or recovered, and a draft of the other
// state waits, the draft whose last occurrence is the oldest goes first.
func (e *entry) before(s *series) *series {
	first, changed := s, false
	for o := e.series; o != nil && s.state && s.draft != nil; o = o.older {
		if o.state && o.draft != nil {
			changed = changed || o.eventtype != s.eventtype
			if o.seen < first.seen {
				first = o
			}
		}
	}
	if !changed || (e.lastFailure == "") != (s.eventtype == corev1.EventTypeNormal) {
		return s
	}
	return first
}

// rest starts the pause that follows a write or its refusal, and doubles the
// next one up to longest.
func (s *series) rest(now instant, longest time.Duration) {
	s.retry, s.failing = 0, 0
	s.due = now.add(s.pause)
	s.pause = min(2*s.pause, longest)
}

// failed returns the first failure of this kind in a row, which is now unless
// there was one.
func (s *series) failed(denied bool, now instant) instant {
	if s.failing == 0 || s.denied != denied {
		s.failing, s.denied = now, denied
	}
	return s.failing
}
