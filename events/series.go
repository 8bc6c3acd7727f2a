// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An entry is what a Recorder keeps about one object. Its bucket is charged when a write has ended, and at most one write
// about an object is under way: that is what makes the cap hold as the API server counts, however long a write takes.
type entry struct {
	ref         reference
	bucket      bucket
	series      *series
	lastFailure string // the reason of the failure that Recovered will name; empty when nothing is open

	on         *list // the queue it waits in, or the idle list; nil while it is written or waits for an instant with a draft
	prev, next *entry
	at         time.Duration // the instant it waits for, while timer > 0
	timer      int32
	drafting   int32 // notes of it that are being formatted
	busy       bool
	forgotten  bool
}

// A series is every occurrence of one (type, reason, action) about one object. A waiting series absorbs its repeats, so what
// is queued is bounded by what is kept.
type series struct {
	older *series
	draft *draft // what a new Event will say; nil when only a count has to be written, or nothing

	reason, action string

	hash    uint64 // of the note of the last draft; 0 makes any note a changed one
	event   int64  // the number in the name of the Event that is counted up; 0 while none is stored
	count   int64  // the occurrences that Event tells of
	pending int64  // the occurrences that no write has told of yet

	since, seen time.Duration // the first occurrence that is pending, and the last of all
	due, pause  time.Duration // repeats before due are only counted; pause follows the next write
	denied      time.Duration // when the write that is made again at due was first denied; 0 while none was

	refused  cause // why nothing is stored, after a write that no retry mends
	warning  bool
	open     bool // a failure that has not recovered
	first    bool // nothing was written yet: ahead of updates
	drafting bool // its note is being formatted, outside the lock
	busy     bool // a write of it is under way
}

// A draft is what one occurrence adds to its series.
type draft struct {
	note        string
	annotations map[string]string
	related     *corev1.ObjectReference
	fieldPath   string

	number  int64 // of the job that is to be made again
	unsure  bool
	carried int64 // the occurrences that it tells of where it may have been stored
}

func (e *entry) find(warning bool, reason, action string) *series {
	for s := e.series; s != nil; s = s.older {
		if s.warning == warning && s.reason == reason && s.action == action {
			return s
		}
	}
	return nil
}

// claimed reports whether e holds something that must not be evicted for the sake of another object.
func (e *entry) claimed() bool {
	if e.drafting > 0 {
		return true
	}
	for s := e.series; s != nil; s = s.older {
		if s.draft != nil {
			return true
		}
	}
	return false
}

// work returns the series of e to write next and the earliest instant for it; nil when there is nothing to write. First
// occurrences come before all else, the oldest first, so no noise of other series can starve them. A count waits until its
// pause and a little more are over, so that a repeat has the chance to bring its note; at once, when hurry is set.
func (e *entry) work(now, slack time.Duration, hurry bool) (*series, time.Duration) {
	var best *series
	var at time.Duration
	for s := e.series; s != nil; s = s.older {
		if s.drafting || s.draft == nil && (s.event == 0 || s.pending == 0) {
			continue
		}
		var when time.Duration
		switch {
		case s.denied != 0:
			when = s.due
		case s.draft == nil && !hurry:
			when = s.due + slack
		}
		switch {
		case best == nil, s.first && !best.first, s.first == best.first && when < at,
			s.first == best.first && when == at && s.since <= best.since:
			best, at = s, when
		}
	}
	if best == nil {
		return nil, 0
	}
	return best, max(at, e.bucket.ready(now))
}

// occurred counts an occurrence at now.
func (s *series) occurred(now time.Duration) {
	if s.pending == 0 {
		s.since = now
	}
	s.pending++
	s.seen = now
}

// drafted is 1 while a note of s is being formatted, whose Event will tell of an occurrence, and else 0.
func (s *series) drafted() int64 {
	if s.drafting {
		return 1
	}
	return 0
}

// wrote is called when a write has told of n occurrences; those since then came at begun or later.
func (s *series) wrote(n int64, begun, now, quiet time.Duration) {
	s.pending -= n
	s.since = begun
	s.first = false
	s.refused, s.denied = 0, 0
	s.rest(now, quiet)
}

// rest starts the pause that follows a write, and doubles the next one up to quiet.
func (s *series) rest(now, quiet time.Duration) {
	s.due = now + s.pause
	s.pause = min(2*s.pause, quiet)
}
