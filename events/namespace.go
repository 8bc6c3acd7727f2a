// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"math/bits"
	"time"
)

// A namespace has the objects that wait in one. It is suspect after a request
// that failed or that took long, until one succeeds quickly.
type namespace struct {
	breaker

	name    string
	ready   queue[*object] // what may be written now
	again   queue[*object] // likewise, after a request that failed
	retries int            // requests in a row that were one of these
	members int            // objects
	waiting int            // objects with a first Event that waits, or is being written
	busy    int            // requests under way
	suspect bool
	gone    instant // until when it is taken for absent or terminating
	written instant // the last write that succeeded
	gaveUp  instant // when it last gave up an Event

	order  order // while it is in a queue
	queued place
}

// An order is what namespaces are ordered by. A namespace without a request
// under way goes ahead, so no namespace takes the workers of another.
type order struct {
	rank          class
	busy          int
	resume, since instant
}

func (o order) comesBefore(other order) bool {
	return cmp.Or(
		cmp.Compare(o.rank, other.rank),
		cmp.Compare(o.busy, other.busy),
		cmp.Compare(o.resume, other.resume),
		cmp.Compare(o.since, other.since),
	) < 0
}

func (n *namespace) comesBefore(other *namespace) bool { return n.order.comesBefore(other.order) }

func (n *namespace) place() *place { return &n.queued }

// rank is lower for healthy namespaces, but their updates wait for the first
// occurrences of suspect ones.
func (n *namespace) rank() class {
	rank := 2 * n.first().turn.class
	if n.suspect {
		rank = max(rank, 2*firstNormal) + 1
	}
	return rank
}

// enter puts o into one of the queues of objects to write now. The queue of
// failed objects is in the order of their first failure: on a server that
// accepts each fifth attempt, some objects reach their fifth.
func (n *namespace) enter(o *object) {
	failing := o.turn.series.trouble.since
	if failing == 0 {
		n.ready.enter(o)
		return
	}
	o.turn.since = failing
	n.again.enter(o)
}

// maxRetries is how many requests in a row are about objects that have failed,
// if others wait. Where some requests succeed, retries are the most likely to
// succeed.
func (n *namespace) maxRetries() int {
	if n.succeeded() > 0 {
		return 3
	}
	return 1
}

// first returns the object to write about next, or nil. Neither failed objects
// nor new ones hold up the others.
func (n *namespace) first() *object {
	fresh := n.ready.first()
	failed := n.again.first()
	switch {
	case fresh == nil:
		return failed
	case failed == nil, fresh.turn.class < failed.turn.class:
		return fresh
	case fresh.turn.class > failed.turn.class, n.retries < n.maxRetries():
		return failed
	}
	return fresh
}

// last returns one of the objects that will be written last, or nil.
func (n *namespace) last() *object {
	q := n.ready
	if q.Len() == 0 {
		q = n.again
	}
	if q.Len() == 0 {
		return nil
	}
	return q[q.Len()-1]
}

// A roster has the namespaces in which something waits.
type roster struct {
	healthy queue[*namespace] // healthy namespaces that may have a request now
	trial   queue[*namespace] // likewise, suspect ones
	resting queue[*namespace] // suspect ones, until an instant

	doubtful int // objects of suspect namespaces with a first Event that waits
}

// enter puts n where it belongs.
func (r *roster) enter(n *namespace, now instant) {
	leave(n)
	first := n.first()
	if first == nil {
		return
	}
	n.order = order{rank: n.rank(), busy: n.busy, resume: n.resume, since: first.turn.since}
	switch {
	case !n.suspect && n.busy < perNamespace:
		r.healthy.enter(n)
	case !n.suspect, n.busy > 0: // it has its share
	case n.resume > now:
		n.order = order{resume: n.resume}
		r.resting.enter(n)
	default:
		r.trial.enter(n)
	}
}

// wake lets the namespaces have a request whose pause is over.
func (r *roster) wake(now instant) {
	for r.resting.Len() > 0 && r.resting.first().order.resume <= now {
		r.enter(r.resting.first(), now)
	}
}

// suspend marks n as suspect or healthy.
func (r *roster) suspend(n *namespace, suspect bool) {
	if n.suspect == suspect {
		return
	}
	n.suspect = suspect
	if suspect {
		r.doubtful += n.waiting
	} else {
		r.doubtful -= n.waiting
		n.resume = 0
	}
}

// hold says whether a first Event of o waits. What waits in suspect namespaces
// takes at most half of the book.
func (r *roster) hold(o *object, waits bool) {
	if o.waits == waits {
		return
	}
	o.waits = waits
	change := 1
	if !waits {
		change = -1
	}
	o.namespace.waiting += change
	if o.namespace.suspect {
		r.doubtful += change
	}
}

// last returns an object that waits in a suspect namespace, one of the last
// that will be written there, or nil.
func (r *roster) last() *object {
	n := r.resting.first()
	if n == nil {
		n = r.trial.first()
	}
	if n == nil {
		return nil
	}
	return n.last()
}

const (
	firstPause   = 250 * time.Millisecond // after a failure of a namespace or of the server
	longestPause = 30 * time.Second
	window       = 64 // answers
)

// A breaker knows how the requests to a namespace, or to the server, have gone
// lately, and pauses them. Where all of them fail, the pause doubles. Where
// some succeed, the pause is as long as their share demands: a server that
// fails four of five requests gets one a second.
type breaker struct {
	failures uint64  // of the last answers, one bit each
	answers  int     // that the bits are about
	failing  bool    // the last answer was a failure
	failed   instant // when that was
	resume   instant // no request before it
}

// add counts an answer.
func (b *breaker) add(failed bool) {
	b.failures <<= 1
	if failed {
		b.failures |= 1
	}
	b.answers = min(b.answers+1, window)
	b.failing = failed
}

// fail counts the failure of a request that began at begun. Requests that were
// under way together make one failure.
func (b *breaker) fail(begun, now instant) {
	if b.failing && begun <= b.failed {
		return
	}
	b.add(true)
	b.failed = now
	b.resume = max(b.resume, now.add(b.pause()))
}

// succeeded returns how many of the last answers were not failures.
func (b *breaker) succeeded() int { return b.answers - bits.OnesCount64(b.failures) }

func (b *breaker) pause() time.Duration {
	succeeded := b.succeeded()
	failed := b.answers - succeeded
	pause := firstPause << min(failed-1, 16)
	if succeeded > 0 {
		pause = firstPause * time.Duration(failed) / time.Duration(succeeded)
	}
	return min(max(pause, firstPause), longestPause)
}
