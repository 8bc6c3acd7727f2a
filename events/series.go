// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An entry is what a Recorder keeps about one object. Its bucket is charged
// when a request has ended, and at most one request about an object is under
// way: so the cap holds on the API server even if a request takes long.
type entry struct {
	ref         reference
	lane        *lane
	bucket      bucket
	series      *series
	lastFailure string  // the reason that Recovered will name; empty when nothing is open
	conflicted  instant // the first of the conflicts in a row that opened no failure

	at    instant // when it is looked at again, or since when it may be written
	turn  int64   // orders entries of one instant
	index int32   // its place in a queue, plus one
	class class   // waiting, unless it may be written

	on         *list // idle or normals; nil while it must not make room
	prev, next *entry
	busy       bool // a request about it is under way
	forgotten  bool
}

func (e *entry) place() *int32 { return &e.index }

func (e *entry) before(f *entry) bool {
	switch {
	case e.class != f.class:
		return e.class < f.class
	case e.at != f.at:
		return e.at < f.at
	}
	return e.turn < f.turn
}

// A series is every occurrence of one identity about one object. A waiting
// series absorbs its repeats, so MaxObjects bounds the queue as well.
type series struct {
	identity
	older *series
	draft *draft // what a new Event will say; nil when only a count has to be written, or nothing
	about *about

	hash    uint64 // of the last note; 0 makes any note a changed one
	event   int64  // the number in the name of the Event that is counted up; 0 while none is stored
	count   int64  // the occurrences that Event reports
	pending int64  // the occurrences that no write has reported

	since, seen instant // the first occurrence that is pending, and the last of all
	due         instant // the earliest next write
	retry       instant // after an attempt that failed
	pause       time.Duration
	failing     instant // the first failure in a row
	denied      instant // the first denial in a row
	tries       uint8
	refused     cause // why nothing is stored, after a write that no retry can save
	open        bool  // a failure that has not recovered
	state       bool  // it reports failures or recoveries
	first       bool  // nothing was written yet: ahead of updates
	busy        bool  // a request of it is under way
}

// An identity tells the series of one object apart.
type identity struct {
	warning        bool
	reason, action string
	about          uint64 // of the related object and the field path; 0 where there is neither
}

// about has the other references of an Event.
type about struct {
	related   *corev1.ObjectReference
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

func (e *entry) find(id identity) *series {
	for s := e.series; s != nil; s = s.older {
		if s.identity == id {
			return s
		}
	}
	return nil
}

// claim is the class of the most urgent draft of e, which must not be dropped
// for another object; update when there is none.
func (e *entry) claim() class {
	most := update
	for s := e.series; s != nil; s = s.older {
		if s.draft != nil {
			most = min(most, max(s.class(), firstWarning))
		}
	}
	return most
}

func (s *series) class() class {
	switch {
	case !s.first:
		return update
	case s.warning || s.state:
		return firstWarning
	}
	return firstNormal
}

// work returns the series of e to write next and the earliest instant for it;
// nil when there is nothing to write. At that instant the lowest class is
// first, and in it the oldest. With hurry no pause counts.
func (e *entry) work(l limit, now instant, hurry bool) (*series, instant) {
	var best *series
	var at instant
	token := e.bucket.ready(l, now)
	for s := e.series; s != nil; s = s.older {
		if s.pending == 0 || s.draft == nil && s.event == 0 {
			continue
		}
		when := max(token, s.retry)
		if !hurry {
			when = max(when, s.due)
		}
		if best == nil || when < at || when == at && (s.class() < best.class() || s.class() == best.class() && s.since <= best.since) {
			best, at = s, when
		}
	}
	return best, at
}

// wrote is called when a write has reported n occurrences; those since then
// came at begun or later.
func (s *series) wrote(n int64, begun, now instant, longest time.Duration) {
	s.pending -= n
	s.since = begun
	s.first, s.refused = false, 0
	s.retry, s.failing, s.denied, s.tries = 0, 0, 0, 0
	s.rest(now, longest)
}

// rest starts the pause that follows a write, and doubles the next one up to
// longest.
func (s *series) rest(now instant, longest time.Duration) {
	s.due = now.add(s.pause)
	s.pause = min(2*s.pause, longest)
}

// again plans the next attempt after a failed one. Its pauses are longer than a
// breaker's, since each attempt takes a token of the object.
func (s *series) again(now instant) {
	s.retry = now.add(min(firstPause<<(2*min(s.tries, 8)), longestPause))
	s.tries++
}
