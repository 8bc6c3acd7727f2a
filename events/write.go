// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import "time"

// A write is one request: it creates an Event, or updates the series of a
// stored Event. The object's reference, the draft, and the identity and the
// about of the series do not change while it is under way, so that the shell
// may read them without the lock.
type write struct {
	object  *object
	series  *series
	draft   *draft // nil for an update
	carried int64  // the occurrences that it reports
	begun   instant
	isTrial bool // in a suspect namespace
	core    bool // by core/v1

	number      int64   // in the name of the Event
	count       int64   // for its series
	since, seen instant // the first and the last occurrence
}

// next returns the write to make now. If there is none, it returns when to ask
// again. clock is the time of day in nanoseconds, which names a new Event.
func (b *book) next(now instant, clock int64) (w *write, at instant) {
	if b.closed {
		return nil, never // a closed book writes nothing
	}
	for b.later.Len() > 0 && b.later.first().turn.at <= now {
		b.settle(b.later.first(), now)
	}
	b.roster.wake(now)
	n, at := b.choose(now)
	if n != nil {
		return b.begin(n, now, clock), now
	}
	if b.later.Len() > 0 {
		at = min(at, b.later.first().turn.at)
	}
	if b.roster.resting.Len() > 0 {
		at = min(at, b.roster.resting.first().order.resume)
	}
	return nil, at
}

// choose returns the namespace to write in now. Without one it returns when to
// ask again.
func (b *book) choose(now instant) (best *namespace, at instant) {
	if b.busy >= workers {
		return nil, never
	}
	if b.server.failing && b.busy > 0 { // one request finds out
		return nil, never
	}
	at = max(b.server.resume, b.asked, b.total.ready(now))
	if at > now {
		return nil, at
	}
	best = b.roster.healthy.first()
	trial := b.roster.trial.first()
	if trial == nil || b.trials >= workers/2 {
		return best, never
	}
	paced := b.pace.ready(now)
	if paced > now {
		return best, paced
	}
	if best == nil || trial.comesBefore(best) {
		best = trial
	}
	return best, never
}

// begin returns the next write in n.
func (b *book) begin(n *namespace, now instant, clock int64) *write {
	obj := n.first()
	n.retries++
	if obj.queued.queue == &n.ready {
		n.retries = 0
	}
	s := obj.turn.series
	leave(obj)
	obj.moveTo(nil)
	obj.busy = true
	n.busy++
	b.busy++
	b.total.take(now)
	if n.suspect {
		b.trials++
		b.pace.take(now)
	}
	w := &write{
		object:  obj,
		series:  s,
		begun:   now,
		isTrial: n.suspect,
		since:   s.waiting.since,
		seen:    s.waiting.seen,
	}
	w.carried = s.begin()
	w.draft = s.waiting.draft
	w.core = b.usesCore(s, now)
	w.number = s.stored.number
	w.count = s.stored.count + w.carried
	if w.draft != nil {
		b.name(w.draft, clock)
		w.number = w.draft.number
		w.count = w.carried
	}
	b.roster.enter(n, now)
	b.isChanged = true
	return w
}

// name gives a new Event a number that no other one has, also where the clock
// is coarse or steps back.
func (b *book) name(d *draft, clock int64) {
	if d.number == 0 {
		b.lastNumber = max(clock, b.lastNumber+1)
		d.number = b.lastNumber
	}
}

// usesCore reports whether the next request of s goes to core/v1.
func (b *book) usesCore(s *series, now instant) bool {
	switch {
	case b.bounds.groups != bothGroups:
		return b.bounds.groups == onlyCore
	case s.trouble.refusal != nil:
		return !s.trouble.refusal.core
	}
	return now < b.route.core
}

// done accounts for a write and lets the next one about the object begin. It
// returns a detour to log, or nil.
func (b *book) done(now instant, w *write, a answer) *detour {
	s := w.series
	n := w.object.namespace
	got := a.reply
	if got == nameTaken {
		got = w.draft.rename()
	}
	n.busy--
	b.busy--
	if w.isTrial {
		b.trials--
	}
	w.object.busy = false
	w.object.limiter.take(now)
	if got <= serverFails {
		b.learn(w, got, a.silent, now)
	}
	var d *detour
	if got <= rejected {
		d = b.route.accept(w.core, s.trouble.refusal, now)
		s.trouble.refusal = nil
	}
	b.move(w, got, a, now)
	if b.closed { // no later write reports what this one did not
		b.drop(s, s.waiting.n, LostShutdown, b.late)
	}
	b.settle(w.object, now)
	b.roster.enter(n, now)
	b.isChanged = true
	return d
}

// move moves the series of w to its next state.
func (b *book) move(w *write, got reply, a answer, now instant) {
	s := w.series
	switch got {
	case written:
		b.stats.Pending -= w.carried
		b.stats.Written++
		b.stats.Coalesced += w.carried - 1
		b.stats.Unread += s.succeed(w, now, b.bounds.longest)
	case nameTaken:
		b.again(w, 0, afterFailure, false)
	case eventGone:
		if s.waiting.draft == nil {
			b.drop(s, s.waiting.n, LostExpired, "")
		}
		s.vanish()
	case groupDenied, groupAbsent:
		b.denied(w, a, now)
	case serverFails:
		b.asked = max(b.asked, now.add(a.retryAfter))
		b.failed(w, a, now)
	case namespaceFails:
		b.failed(w, a, now)
	case interrupted:
		b.again(w, 0, afterFailure, true)
	case namespaceGone:
		w.object.namespace.gone = now.add(goneTime)
		b.giveUp(w, LostNamespaceGone, a.why, now)
	case rejected:
		b.giveUp(w, LostRejected, a.why, now)
	}
}

// goneTime is how long a namespace is taken for absent.
const goneTime = 30 * time.Second

// again has a write made again at the given instant or later.
func (b *book) again(w *write, until instant, why after, isUnsure bool) {
	if !b.closed {
		b.stats.Retried++
	}
	w.series.retry(w, until, why, isUnsure)
}

// giveUp drops the write of w, and what waited for it.
func (b *book) giveUp(w *write, cause, why string, now instant) {
	n := w.series.refuse(w, cause, now, b.bounds.longest)
	b.stats.Pending -= n
	b.lose(cause, n, why)
}

// denied is called when an API group refuses a write. The other group is left
// to try, and after roleTime both again, until patience ends. A refusal to
// report names the permission to grant first.
func (b *book) denied(w *write, a answer, now instant) {
	s := w.series
	latest := &refusal{why: a.why, core: w.core, notServed: a.reply == groupAbsent}
	earlier := s.trouble.refusal
	if earlier == nil && b.bounds.groups == bothGroups {
		s.trouble.refusal = latest
		b.again(w, 0, afterFailure, false)
		return
	}
	s.trouble.refusal = nil
	final := latest
	if earlier != nil && !earlier.notServed && (latest.core || latest.notServed) {
		final = earlier
	}
	since := s.fail(true, now)
	limit := patience
	if b.flushing > 0 {
		limit = roleTime
	}
	switch {
	case s.trouble.cause == "" && now.since(since) < limit:
		b.again(w, now.add(roleTime), afterDenial, false)
	case final.notServed: // by no group
		b.giveUp(w, LostRejected, final.why, now)
	default:
		b.giveUp(w, LostForbidden, final.why, now)
	}
}

// failed has a write made again after a failure, or gives up a new Event.
func (b *book) failed(w *write, a answer, now instant) {
	s := w.series
	since := s.fail(false, now)
	isTried := w.draft != nil && s.trouble.attempts >= manyAttempts
	if isTried && b.isHopeless(w.object.namespace, since, now) {
		w.object.namespace.gaveUp = now
		b.giveUp(w, LostExpired, a.why, now)
		s.forgive(now)
		return
	}
	// It grows faster than the pauses of a breaker: each attempt takes a token
	// of the object.
	pause := min(max(3*now.since(since), firstPause), longestPause)
	b.again(w, now.add(pause), afterFailure, true)
}

// manyAttempts is how often a write that is given up has failed.
const manyAttempts = 8

// isHopeless reports whether a new Event in n that fails since then is given
// up: after five minutes, if most writes in other namespaces have succeeded in
// that time. During an outage nothing is given up. While no write in n
// succeeds, one Event in five minutes is, because the next attempt may find n
// well again.
func (b *book) isHopeless(n *namespace, since, now instant) bool {
	if n.written <= since {
		since = max(since, n.gaveUp)
	}
	return now.since(since) >= b.bounds.retry && b.recent.isFineElsewhere(n, since)
}

// learn updates the breakers by the answer to w. If no answer came, silent is
// true.
func (b *book) learn(w *write, got reply, silent bool, now instant) {
	n := w.object.namespace
	isFailure := got >= namespaceFails
	switch {
	case got == serverFails || silent && b.server.failing:
		if !b.server.failing || b.blamed != n { // repeated failures of n alone may be its own fault
			b.server.fail(w.begun, now)
		}
		b.blamed = n
	case !silent:
		b.server.add(false)
	}
	if isFailure {
		n.fail(w.begun, now)
	} else {
		n.add(false)
	}
	if isFailure || got == written {
		b.recent.add(n, !isFailure, now)
	}
	if got == written {
		n.written = now
	}
	isSlow := now.since(w.begun) > quickTime+spareTime
	b.roster.suspend(n, got > eventGone || isSlow)
}

// recent has the last answers of all namespaces.
type recent struct {
	answers [window]struct {
		namespace *namespace
		succeeded bool
		at        instant
	}
	oldest int // index
}

func (r *recent) add(n *namespace, succeeded bool, now instant) {
	last := &r.answers[r.oldest]
	last.namespace = n
	last.succeeded = succeeded
	last.at = now
	r.oldest = (r.oldest + 1) % window
}

// isFineElsewhere reports whether the requests in other namespaces have
// succeeded since then: at least four, and four of five.
func (r *recent) isFineElsewhere(n *namespace, since instant) bool {
	succeeded := 0
	failed := 0
	for _, a := range r.answers {
		switch {
		case a.namespace == nil || a.namespace == n || a.at <= since:
		case a.succeeded:
			succeeded++
		default:
			failed++
		}
	}
	return succeeded >= 4 && succeeded >= 4*failed
}
