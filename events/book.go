// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"hash/maphash"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proompteng/controllerkit/events/redact"
)

const (
	workers      = 8           // concurrent requests
	perNamespace = 2           // of them about objects of one namespace
	quickTime    = time.Second // in which an answer is expected: without it a namespace is suspect
)

// Conflicts in a row open a failure after routineTime.
const routineTime = 2 * time.Minute

// A book decides what to write about which object, and when:
//
//	record → next → the request → done
//
// next and done are in write.go. After each of them settle queues what waits.
// testdata/scenes/first.txt plays the simplest case.
//
// It makes no request, reads no clock and calls none of the caller's code. Its
// only locks are inside rate.Limiter, and no two callers ever compete for one.
// It is not safe for concurrent use.
type book struct {
	bounds bounds

	objects    map[key]*object
	namespaces map[string]*namespace
	seed       maphash.Seed // of the hashes that compare texts
	idle       pool         // objects that may make room for any other
	normals    pool         // objects that make room for Warnings only

	later  queue[*object] // what waits for an instant
	roster roster         // namespaces in which something waits
	busy   int            // requests under way
	trials int            // of them, in suspect namespaces

	total, pace limiter // of all requests, and of those in suspect namespaces
	server      breaker
	blamed      *namespace // where the server failed last
	asked       instant    // no request before it, as the server said
	recent      recent
	route       route

	stats      Stats // Lost is in losses
	losses     losses
	lastNumber int64 // in the name of an Event
	flushing   int   // how many callers want every count written now
	closed     bool
	late       string // what to do about an Event that was not written before the end
	isChanged  bool   // there may be something to do since the shell looked last
}

// bounds are what a book keeps to.
type bounds struct {
	objects   int
	series    int           // of an object
	perObject limit         // requests
	total     limit         // requests
	pace      limit         // requests in suspect namespaces
	pause     time.Duration // the first one between two writes of a series
	longest   time.Duration // pause
	retry     time.Duration // before that no write is given up
	namespace string        // of the Events of cluster-scoped objects
	groups    groups
}

// groups are the API groups that a sink has.
type groups uint8

const (
	bothGroups groups = iota
	onlyEvents
	onlyCore
)

func newBook(b bounds) *book {
	return &book{
		bounds:     b,
		objects:    make(map[key]*object),
		namespaces: make(map[string]*namespace),
		seed:       maphash.MakeSeed(),
		losses:     make(losses),
		total:      b.total.newLimiter(),
		pace:       b.pace.newLimiter(),
		late:       tooSlow,
	}
}

// An occurrence is one call that records.
type occurrence struct {
	identity

	key         key
	ref         *corev1.ObjectReference // nil until the book needs it
	about       about
	generation  int64
	hash        uint64 // of the text as it was recorded
	text        string // clean
	annotations map[string]string
	isAnnotated bool
	isClean     bool // ref, text and annotations are set
	kind        kind
	terminal    bool // another note does not wait for the end of the pause
}

// A kind is what an occurrence says of an object.
type kind uint8

const (
	plain    kind = iota
	failure       // opens a failure that Recovered will end
	conflict      // a failure that only counts if it lasts
	recovery
)

// record counts an occurrence; pick is a random number. It returns false, and
// counts nothing, if the object or the text is new and o is not clean yet.
func (b *book) record(now instant, pick uint64, o *occurrence) bool {
	found := b.objects[o.key]
	if !o.isClean && !b.closed && !found.knows(o, now) {
		return false
	}
	b.stats.Recorded++
	if b.closed {
		b.lose(LostShutdown, 1, afterStart)
		return true
	}
	if found == nil {
		found = b.admit(now, pick, o)
		if found == nil {
			return true
		}
	}
	b.count(found, o, now)
	return true
}

// count adds an occurrence to its series.
func (b *book) count(obj *object, o *occurrence, now instant) {
	obj.forgotten = false
	if now < obj.namespace.gone {
		b.lose(LostNamespaceGone, 1, "")
		return
	}
	if o.kind == conflict && b.isRoutine(obj, o, now) {
		b.stats.Suppressed++
		b.settle(obj, now)
		return
	}
	s := obj.find(o)
	switch {
	case s == nil:
		s = b.open(obj, o)
		if s == nil {
			b.lose(LostQueueFull, 1, manyReasons)
			return
		}
	case now.since(s.waiting.seen)/2 > b.bounds.longest && s.waiting.n == 0:
		s.renew(b.bounds.pause) // silent for so long that it is news again
	}
	b.judge(obj, s, o, now)
	if s.isLost(o, now) {
		s.waiting.seen = now
		b.lose(s.trouble.cause, 1, "") // why, was said when the series was refused
		return
	}
	s.add(o, now)
	b.stats.Pending++
	b.settle(obj, now)
}

// isRoutine reports whether a retry is expected to resolve a conflict.
func (b *book) isRoutine(obj *object, o *occurrence, now instant) bool {
	e := obj.begin(o.controller)
	if e.conflicts == 0 {
		e.conflicts = now
	}
	return now.since(e.conflicts) < routineTime
}

// judge opens a failure, if o is one.
func (b *book) judge(obj *object, s *series, o *occurrence, now instant) {
	if o.kind == plain {
		return
	}
	e := obj.begin(o.controller)
	if o.kind != recovery && e.failure == "" {
		obj.hasten(e, now, b.bounds.pause)
	}
	if o.kind == failure {
		e.conflicts = 0
	}
	if o.kind != recovery {
		e.failure = o.reason
	}
	s.episode = e
}

// recovered ends the failure of an object, if one is open, with an occurrence
// whose text it sets.
func (b *book) recovered(now instant, o *occurrence) {
	obj := b.objects[o.key]
	if obj == nil {
		return
	}
	e := obj.episode(o.controller)
	if e == nil {
		return
	}
	from := e.end()
	if from == "" {
		return
	}
	obj.hasten(e, now, b.bounds.pause)
	b.settle(obj, now)
	asIs := func(reason string) string { return reason }
	o.text = redact.Note("recovered from "+from, asIs)
	o.hash = maphash.String(b.seed, o.text)
	o.isClean = true
	b.stats.Recorded++
	b.count(obj, o, now)
}

// hasPending reports whether a new Event of an object waits, or is being
// written.
func (b *book) hasPending(k key) bool {
	obj := b.objects[k]
	if obj == nil {
		return false
	}
	_, hasDraft := obj.claim()
	return hasDraft
}

// forget drops what is known of an object, except its cap and what waits.
func (b *book) forget(now instant, k key) {
	obj := b.objects[k]
	if obj == nil {
		return
	}
	obj.forgotten = true
	for _, e := range obj.episodes {
		e.end()
	}
	b.settle(obj, now)
}

// discard counts an occurrence that cannot be recorded.
func (b *book) discard(cause, detail string) {
	b.stats.Recorded++
	if b.closed {
		cause = LostShutdown
		detail = afterStart
	}
	b.lose(cause, 1, detail)
}

// suppressed counts an occurrence that is neither written nor lost.
func (b *book) suppressed() {
	b.stats.Recorded++
	b.stats.Suppressed++
}

// settle puts obj where it belongs: in the queue of objects to write now, or in
// the queue for later, and in a pool if it may make room for others.
func (b *book) settle(obj *object, now instant) {
	if obj.busy || b.closed {
		return
	}
	n := obj.namespace
	t := obj.nextTurn(now, b.flushing > 0)
	leave(obj)
	switch {
	case t.series == nil && obj.forgotten:
		full := obj.limiter.fullAt(now)
		if full <= now {
			b.remove(obj, now)
			return
		}
		obj.series = nil
		obj.turn = turn{at: full, class: update}
		b.later.enter(obj)
	case t.series == nil:
	case t.at > now:
		obj.turn = t
		b.later.enter(obj)
	default:
		obj.turn = t
		obj.turn.at = 0 // among objects that may be written now, class and age decide
		n.enter(obj)
	}
	if t.series != nil {
		b.isChanged = true
	}
	b.roster.enter(n, now)
	claim, _ := obj.claim()
	b.roster.hold(obj, claim != update)
	switch claim {
	case firstWarning:
		obj.moveTo(nil)
	case firstNormal:
		obj.moveTo(&b.normals)
	case update:
		obj.moveTo(&b.idle)
	}
}

// close ends the book: what waits and is not being written is lost.
func (b *book) close() {
	b.closed = true
	for _, obj := range b.objects {
		for _, s := range obj.series {
			if s.state != writing {
				b.drop(s, s.waiting.n, LostShutdown, b.late)
			}
		}
	}
	clear(b.objects)
}

// flush ends the pauses of counts until unflush is called. Where a caller waits
// for the end, what failed is tried immediately, unless the server asked to be
// left alone: a pause may be longer than the time that is left.
func (b *book) flush(now instant) {
	b.flushing++
	b.server = breaker{}
	for _, n := range b.namespaces {
		n.breaker = breaker{}
	}
	for _, obj := range b.objects {
		for _, s := range obj.series {
			if s.wait.after == afterFailure {
				s.wait.until = now
			}
		}
		b.settle(obj, now)
	}
}

// unflush is called when a caller of flush has ended. Without another one, what
// counts only waits for its pause again.
func (b *book) unflush(now instant) {
	b.flushing--
	for _, obj := range b.objects {
		b.settle(obj, now)
	}
}

// isWritten reports whether nothing is left to write before deadline but
// counts. A count is written where that takes no time: now, and if the server
// and the namespace answer.
func (b *book) isWritten(deadline instant) bool {
	for _, obj := range b.objects {
		_, hasDraft := obj.claim()
		isQueued := obj.queued.queue != nil
		if hasDraft && (obj.busy || isQueued && obj.turn.at < deadline) {
			return false
		}
		isReady := obj.busy || isQueued && obj.queued.queue != &b.later
		if isReady && !obj.namespace.suspect && !b.server.failing {
			return false
		}
	}
	return true
}
