// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"
	"time"
)

// add counts an occurrence.
func (s *series) add(o *occurrence, now time.Time, pause time.Duration) {
	if s.n == 0 {
		s.since = now
		s.order = now
	}
	if s.isFirst() && s.hash != o.hash {
		s.due = time.Time{}
	}
	s.n++
	s.last = now
	if o.isClean {
		s.text = o.text
		s.annotations = o.annotations
	}
	s.hash = o.hash
	if s.failureNumber != o.failureNumber { // kubectl describe shows a new Event last
		s.failureNumber = o.failureNumber
		s.isChange = true
		s.isOld = true
		s.pause = pause
	}
}

// isFirst reports whether s has no Event yet.
func (s *series) isFirst() bool { return s.stored.number == 0 }

// isNews reports whether the next write of s creates an Event.
func (s *series) isNews() bool {
	return s.isFirst() || s.isChange || s.hash != s.stored.hash
}

// isFree reports whether the next Event of s is the first of its reason, which
// takes no token of newEvents.
func (o *object) isFree(s *series) bool {
	return s.isFirst() && len(o.reasons) < maxReasons && !slices.Contains(o.reasons, s.reason)
}

// takesToken reports whether the next write of s takes a token of newEvents. An
// attempt that had no answer has taken the token of its Event.
func (o *object) takesToken(s *series) bool {
	return s.isNews() && s.unsure.number == 0 && !o.isFree(s)
}

// next returns the series of o to write about next, and when. Of those that may
// be written now, one without an Event comes first, then a changed text, and
// the oldest of these. Without one the time is zero.
func (e *engine) next(o *object, now time.Time) (best *series, at time.Time) {
	var rank int
	for _, s := range o.series {
		if s.n == 0 || o.isTooEarly(s) {
			continue
		}
		t := e.ready(o, s, now)
		r := s.rank()
		isBetter := best == nil || t.Before(at)
		if best != nil && t.Equal(at) {
			isBetter = r < rank || r == rank && s.order.Before(best.order)
		}
		if isBetter {
			best = s
			at = t
			rank = r
		}
	}
	return best, at
}

func (s *series) rank() int {
	switch {
	case s.isFirst():
		return 0
	case s.isNews():
		return 1
	}
	return 2
}

// isTooEarly reports whether s is a recovery from a failure that still waits.
func (o *object) isTooEarly(s *series) bool {
	if s.kind != recovery {
		return false
	}
	return slices.ContainsFunc(o.series, func(other *series) bool {
		isFailure := other.kind == failure && other.controller == s.controller
		return isFailure && other.n > 0 && other.isNews()
	})
}

// ready returns when s may be written, now or later. While a Flush or a stop
// waits, only the cap of the object and failures count.
func (e *engine) ready(o *object, s *series, now time.Time) time.Time {
	at := latest(now, o.retry, tokenAt(o.requests, now))
	if e.flushing > 0 {
		return at
	}
	if s.isFirst() || !s.isNews() {
		at = latest(at, s.due)
	}
	if o.takesToken(s) {
		at = latest(at, tokenAt(o.newEvents, now))
	}
	return at
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}

// schedule plans the next write about an object.
func (e *engine) schedule(o *object, now time.Time) {
	if o.writing != nil || o.isGone {
		return
	}
	_, at := e.next(o, now)
	line := o.lineOf()
	isAhead := line > o.line.Swap(line)
	isPlanned := !o.planned.IsZero() && !o.planned.After(at)
	switch {
	case at.IsZero(), e.queue == nil, o.isParked:
	case isPlanned && !isAhead:
	case at.After(now):
		o.planned = at
		e.queue.AddAfter(o, at.Sub(now))
	default:
		o.planned = now
		e.queue.Add(o)
	}
}

// lineOf returns the line of the queue for o.
func (o *object) lineOf() int32 {
	switch {
	case o.isRefused:
		return nextLine
	case o.namespace.isFailing():
		return failingLine
	case o.waitsForFirst():
		return firstLine
	}
	return updateLine
}

// waitsForFirst reports whether a first Event of o waits.
func (o *object) waitsForFirst() bool {
	return slices.ContainsFunc(o.series, func(s *series) bool { return s.n > 0 && s.isFirst() })
}
