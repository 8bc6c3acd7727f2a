// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An object is what a book keeps about one object. Its cap is charged when a
// request has ended, and at most one request about an object is under way: so
// the cap holds on the API server even if a request takes long.
type object struct {
	ref       corev1.ObjectReference
	namespace *namespace
	limiter   limiter
	series    []*series
	episodes  []*episode

	busy      bool // a request about it is under way
	forgotten bool
	waits     bool // a first Event of it waits, or is being written

	turn   turn // while it is in a queue
	queued place
	pool   *pool // where it may make room for others, or nil
	slot   int
}

// A key distinguishes objects. It ignores versions, and has the group and the
// kind only for an object without a uid.
type key struct{ uid, kind, namespace, name string }

func keyOf(ref *corev1.ObjectReference) key {
	k := key{uid: string(ref.UID), namespace: ref.Namespace, name: ref.Name}
	if k.uid == "" {
		k.kind = ref.GroupVersionKind().GroupKind().String()
	}
	return k
}

// An episode is a failure of an object that one controller reports.
type episode struct {
	controller string
	failure    string  // the reason that Recovered will name; empty when none is open
	conflicts  instant // the first of the conflicts in a row that opened no failure
}

// end closes the failure, and returns its reason.
func (e *episode) end() (reason string) {
	reason = e.failure
	e.failure = ""
	e.conflicts = 0
	return reason
}

// episode returns the episode of controller, or nil.
func (o *object) episode(controller string) *episode {
	for _, e := range o.episodes {
		if e.controller == controller {
			return e
		}
	}
	return nil
}

// begin returns the episode of controller, a new one if there was none.
func (o *object) begin(controller string) *episode {
	e := o.episode(controller)
	if e == nil {
		e = &episode{controller: controller}
		o.episodes = append(o.episodes, e)
	}
	return e
}

// A class orders what may be written: lower ones are first.
type class uint8

const (
	firstWarning class = iota // and the recovery from it
	firstNormal
	update
)

// A turn is what to write next about an object, and when.
type turn struct {
	series *series
	at     instant
	class  class
	since  instant // the first occurrence that waits for it
}

// comesBefore orders objects that wait for an instant. Objects with the same
// instant are in the order of their class, and in a class the oldest is first.
func (o *object) comesBefore(other *object) bool {
	return cmp.Or(
		cmp.Compare(o.turn.at, other.turn.at),
		cmp.Compare(o.turn.class, other.turn.class),
		cmp.Compare(o.turn.since, other.turn.since),
	) < 0
}

func (o *object) place() *place { return &o.queued }

// find returns the series of an occurrence, or nil.
func (o *object) find(occ *occurrence) *series {
	for _, s := range o.series {
		if s.identity == occ.identity && s.isAbout(occ.about) {
			return s
		}
	}
	return nil
}

// knows reports whether o needs no text of an occurrence: it has the text as an
// Event shows it, or the occurrence is a routine conflict.
func (o *object) knows(occ *occurrence, now instant) bool {
	if o == nil || occ.isAnnotated {
		return false
	}
	e := o.episode(occ.controller)
	if occ.kind == conflict && e != nil && e.conflicts != 0 && now.since(e.conflicts) < routineTime {
		return true
	}
	s := o.find(occ)
	return s != nil && s.waiting.n+s.stored.number > 0 && s.waiting.hash == occ.hash
}

// nextTurn returns the series to write next, the earliest instant for it, and
// how urgent that is. Its series is nil when there is nothing to write. While
// flushing no pause counts.
func (o *object) nextTurn(now instant, flushing bool) turn {
	var best turn
	token := o.limiter.ready(now)
	for _, s := range o.series {
		if s.waiting.n == 0 {
			continue
		}
		first := o.firstOf(s)
		t := turn{series: first, class: s.class(), since: s.waiting.since}
		t.at = max(token, s.wait.over(flushing), first.wait.over(true))
		if best.series == nil || t.isSooner(best) {
			best = t
		}
	}
	return best
}

// isSooner reports whether t comes before u.
func (t turn) isSooner(u turn) bool {
	return cmp.Or(
		cmp.Compare(t.at, u.at),
		cmp.Compare(t.class, u.class),
		cmp.Compare(t.since, u.since),
	) < 0
}

// firstOf returns what must be written before s, or s itself. An object shows
// last what it is now, failing or recovered. So if the draft of s says that,
// and a draft that says the contrary waits, the draft whose last occurrence is
// the oldest goes first.
func (o *object) firstOf(s *series) *series {
	if s.episode == nil || s.waiting.draft == nil {
		return s
	}
	isFailing := s.episode.failure != ""
	if isFailing == (s.eventtype == corev1.EventTypeNormal) {
		return s
	}
	var first *series
	changed := false
	for _, other := range o.series {
		if other == s || other.episode != s.episode || other.waiting.draft == nil {
			continue
		}
		if other.eventtype != s.eventtype {
			changed = true
		}
		if first == nil || other.waiting.seen < first.waiting.seen {
			first = other
		}
	}
	if !changed || s.waiting.seen < first.waiting.seen {
		return s
	}
	return first
}

// claim returns the class of the most urgent first Event that waits, and
// whether any new Event does. It is update where only a count or a changed
// note waits, which may be dropped for another object.
func (o *object) claim() (most class, hasDraft bool) {
	most = update
	for _, s := range o.series {
		if s.waiting.draft != nil {
			most = min(most, s.class())
			hasDraft = true
		}
	}
	return most, hasDraft
}

// hasten is called when an object fails or recovers. It ends the pauses that
// the change has made obsolete, so what an object shows last is never wrong for
// longer than one short pause. The next occurrence is a new Event, so that
// kubectl describe shows it last.
func (o *object) hasten(e *episode, now instant, pause time.Duration) {
	for _, s := range o.series {
		if s.episode == e {
			s.hasten(now, pause)
		}
	}
}
