// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A state decides what may happen next to a series.
//
//	idle → due → writing → idle, or due where more waits
//	               ↓
//	             refused → due
type state uint8

const (
	idle    state = iota // nothing waits to be written
	due                  // something waits to be written
	writing              // a request is under way
	refused              // nothing is stored, and until the wait ends, occurrences are lost
)

// An after is what a series waits after.
type after uint8

const (
	afterWrite   after = iota // the pause that follows each write
	afterNews                 // the pause ended early
	afterFailure              // of a request, which is made again
	afterDenial               // likewise, but a role may be on its way
)

// A wait is the time before which a series is not written.
type wait struct {
	until instant
	after after
}

// over returns when w ends. With hurry pauses do not count.
func (w wait) over(hurry bool) instant {
	if hurry && w.after == afterWrite {
		return 0
	}
	return w.until
}

// An identity and an about distinguish the series of one object.
type identity struct {
	controller, eventtype, reason, action string
}

// An about has the other references of an Event.
type about struct {
	related   corev1.ObjectReference
	fieldPath string
}

// A series is every occurrence of one identity about one object.
type series struct {
	identity

	about   *about   // nil where there is neither a related object nor a field path
	episode *episode // that it reports the failures or recoveries of; nil for others

	state   state
	wait    wait
	pause   time.Duration // that follows the next write
	early   int           // pauses in a row that ended early
	isKnown bool          // something was written: it is not ahead of updates

	stored  stored
	waiting waiting
	trouble trouble
}

// stored is what the API server has of a series.
type stored struct {
	number     int64  // in the name of the Event that is counted up; 0 while there is none
	count      int64  // the occurrences that it reports
	hash       uint64 // of its note
	generation int64  // of the object, as of the last write
}

// waiting has the occurrences that no write has reported yet.
type waiting struct {
	n          int64 // occurrences
	unread     int64 // of them, those whose note no Event will show
	since      instant
	seen       instant // the last occurrence, also after it was written
	hash       uint64  // of its note
	text       string  // its note
	generation int64   // of its object
	draft      *draft  // of a new Event; nil where only the count has changed
	isFresh    bool    // the next occurrence is a new Event, even with the same note
}

// trouble is what went wrong with the writes of a series, one after another.
type trouble struct {
	since    instant // the first failure of one kind; 0 while there is none
	denied   bool    // that kind: denials, or failures
	attempts int     // that have failed since then
	refusal  *refusal
	cause    string // of the loss, after a write that no retry can save
	sent     *draft // of the request under way
}

func (s *series) isAbout(a about) bool {
	if s.about == nil {
		return a == about{}
	}
	return *s.about == a
}

// class returns how urgent s is.
func (s *series) class() class {
	switch {
	case s.isKnown:
		return update
	case s.eventtype == corev1.EventTypeWarning, s.episode != nil:
		return firstWarning
	}
	return firstNormal
}

// renew makes the next occurrence a first one, which waits for nothing.
func (s *series) renew(pause time.Duration) {
	s.isKnown = false
	s.waiting.isFresh = true
	s.pause = pause
	s.trouble.cause = ""
}

// hasten shortens the pause of s.
func (s *series) hasten(now instant, pause time.Duration) {
	s.waiting.isFresh = true
	s.pause = pause
	if s.wait.after == afterWrite {
		s.wait.until = min(s.wait.until, now.add(pause))
	}
}

// isLost reports whether an occurrence is lost because the last write was
// refused. After it has found one note invalid, the API server may accept
// another note of a terminal error.
func (s *series) isLost(o *occurrence, now instant) bool {
	if s.state != refused || now >= s.wait.until {
		return false
	}
	isAnother := o.terminal && o.hash != s.waiting.hash
	return !isAnother || s.trouble.cause != LostRejected
}

// add counts an occurrence.
func (s *series) add(o *occurrence, now instant) {
	w := &s.waiting
	if w.n == 0 {
		w.since = now
	}
	w.n++
	w.seen = now
	isRepeat := o.hash == w.hash
	if o.isClean {
		w.text = o.text
	}
	w.hash = o.hash
	w.generation = o.generation
	s.note(o)
	if s.state != writing {
		s.state = due
	}
	s.endPause(o, isRepeat, now)
}

// At most so many pauses of a series in a row end early. A note that is never
// the same, such as one with a duration, makes no more Events than that.
const maxEarly = 3

// endPause ends the pause early if a person waits for the Event: after a change
// of the spec, and for another terminal error. A note that came twice in a row
// after a change of the spec is news in any case.
func (s *series) endPause(o *occurrence, isRepeat bool, now instant) {
	if s.wait.after != afterWrite || s.wait.until <= now {
		return
	}
	isEdited := o.generation != s.stored.generation
	isNews := isEdited && isRepeat && s.waiting.draft != nil
	switch {
	case isNews:
	case s.early >= maxEarly:
		return
	case isEdited, o.terminal && s.waiting.draft != nil:
		s.early++
	default:
		return
	}
	s.wait = wait{now, afterNews}
}

// begin is called when a request begins. It returns how many occurrences the
// request reports.
func (s *series) begin() (carried int64) {
	s.state = writing
	if s.wait.after == afterWrite {
		s.early = 0
	}
	s.stored.generation = s.waiting.generation
	d := s.waiting.draft
	s.trouble.sent = d
	carried = s.waiting.n
	if d == nil {
		return carried
	}
	if d.isUnsure {
		carried = d.carried // an update reports later ones
	}
	d.carried = carried
	return carried
}

// end is called when the request has ended. The series is then in the state to,
// unless more waits.
func (s *series) end(to state) {
	s.trouble.sent = nil
	if to != due {
		s.trouble.since = 0
	}
	s.waiting.unread = min(s.waiting.unread, s.waiting.n)
	s.state = to
	if s.waiting.n > 0 {
		s.state = due
	}
}

// rest starts the pause that follows a write or its refusal, and doubles the
// next one up to longest.
func (s *series) rest(now instant, longest time.Duration) {
	s.wait = wait{now.add(s.pause), afterWrite}
	s.pause = min(2*s.pause, longest)
	wasEdited := s.waiting.generation != s.stored.generation // during the request
	if wasEdited && s.early < maxEarly {
		s.early++
		s.wait = wait{now, afterNews}
	}
}

// succeed is called when a write has reported its occurrences. It returns how
// many of them have a note that no Event shows.
func (s *series) succeed(w *write, now instant, longest time.Duration) (unread int64) {
	if w.draft != nil {
		s.stored.number = w.draft.number
		s.stored.count = 0
		s.stored.hash = w.draft.hash
	}
	if s.waiting.draft == w.draft {
		s.waiting.draft = nil
	}
	s.stored.count += w.carried
	unread = min(s.waiting.unread, w.carried-1)
	s.waiting.unread -= unread
	s.took(w, w.carried)
	s.isKnown = true
	s.trouble.cause = ""
	s.rest(now, longest)
	s.end(idle)
	return unread
}

// took is called when n occurrences that the request w reported, or more, wait
// no longer.
func (s *series) took(w *write, n int64) {
	s.waiting.n -= n
	s.waiting.since = w.begun
	if s.waiting.n == 1 { // or later
		s.waiting.since = s.waiting.seen
	}
}

// retry has the write made again. It is unsure if it may have been stored.
func (s *series) retry(w *write, until instant, why after, isUnsure bool) {
	d := w.draft
	if d != nil && isUnsure {
		d.isUnsure = true
	}
	latest := s.waiting.draft
	if d != nil && latest != nil && d != latest { // another note has replaced it
		s.waiting.unread += d.same
		latest.isNew = latest.isNew || d.isNew
	}
	s.wait = wait{until, why}
	s.end(due)
}

// fail returns the first failure of this kind in a row, which is now unless
// there was one.
func (s *series) fail(denied bool, now instant) instant {
	t := &s.trouble
	if t.since == 0 || t.denied != denied {
		t.since = now
		t.denied = denied
		t.attempts = 0
	}
	t.attempts++
	return t.since
}

// refuse gives up the write of w, and what waited for it. It returns how many
// occurrences are dropped.
func (s *series) refuse(w *write, cause string, now instant, longest time.Duration) (n int64) {
	n = w.carried
	if s.waiting.draft == w.draft {
		n = s.waiting.n
		s.waiting.draft = nil
		s.stored.number = 0
	} // otherwise a changed note still waits, and makes an Event
	s.waiting.unread -= min(s.waiting.unread, w.carried-1)
	s.took(w, n)
	s.rest(now, longest)
	s.trouble.cause = cause
	s.end(refused)
	return n
}

// forgive lets the next occurrence be written, because the Event did not cause
// the failure of the last write.
func (s *series) forgive(now instant) {
	s.trouble.cause = ""
	s.wait = wait{now, afterWrite}
	s.end(idle)
}

// drop gives up n occurrences that wait. It reports whether the stored Event is
// of their kind: then they are repeats that it does not count.
func (s *series) drop(n int64) (isRepeat bool) {
	s.waiting.n -= n
	return s.stored.number != 0 && s.waiting.draft == nil
}

// vanish is called when an Event has outlived its TTL: the next occurrence
// makes a new one, or the note that waits does.
func (s *series) vanish() {
	s.stored.number = 0
	s.end(idle)
}
