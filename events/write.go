// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	workers       = 8                      // concurrent requests
	perNamespace  = 2                      // of them about objects of one namespace
	firstRetry    = 250 * time.Millisecond // after a failure of an object, and then twice as long each time
	longestRetry  = 30 * time.Second
	firstDenial   = 15 * time.Second // likewise after a 403: a role may be on its way
	longestDenial = 10 * time.Minute
	longestProbe  = 2 * time.Second  // between two requests to a server that takes none
	routeTime     = 10 * time.Minute // of core/v1, after events.k8s.io refused
	troubleTime   = 15 * time.Second // of failures, before the log reports them
)

// turn makes the request about the next object, if it is time. It reports
// whether the queue has ended. One worker at a time looks for an object.
func (e *engine) turn(ctx context.Context, log logr.Logger, q objectQueue, gate chan struct{}) (ended bool) {
	gate <- struct{}{}
	e.awaitToken(ctx)
	o, ended := q.Get()
	if ended {
		<-gate
		return true
	}
	defer q.Done(o)
	e.awaitToken(ctx) // the server may have failed since
	var w *write
	if ctx.Err() == nil {
		e.locked(func() { w = e.enter(o) })
	}
	<-gate
	if w == nil {
		return false
	}
	got, why := e.ask(ctx, w)
	e.locked(func() {
		e.done(w, got, why)
		e.leave(w)
	})
	e.logRoute(log, w, got)
	return false
}

// awaitToken waits for a token of the total cap, and while the server pauses.
// After a pause one request finds out whether the server answers.
func (e *engine) awaitToken(ctx context.Context) {
	for ctx.Err() == nil {
		var wait time.Duration
		var answered chan struct{}
		isProbed := false
		e.locked(func() {
			now := time.Now()
			wait = latest(tokenAt(e.total, now), e.server.until).Sub(now)
			isProbed = e.server.isFailing() && e.busy > 0
			answered = e.answered
		})
		if wait <= 0 && !isProbed {
			return
		}
		var over <-chan time.Time
		if wait > 0 {
			over = time.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-answered:
		case <-over:
		}
	}
}

// enter takes an object from the queue. It returns the request to make now, or
// nil. Where the namespace is the reason to wait, the object waits in its list.
func (e *engine) enter(o *object) *write {
	now := time.Now()
	o.planned = time.Time{}
	n := o.namespace
	if n.waker == o {
		n.waker = nil
	}
	s, at := e.next(o, now)
	switch {
	case o.isGone, o.isParked, e.isClosed:
		e.release(n, now)
		return nil
	case s == nil, at.After(now):
		e.schedule(o, now)
		e.release(n, now)
		return nil
	case now.Before(n.until) && n.waker == nil:
		e.wake(n, o, now)
		return nil
	case now.Before(n.until), n.busy >= n.share():
		n.park(o)
		return nil
	case n.isFailing() && e.probes >= workers/2:
		n.until = now.Add(firstRetry)
		e.wake(n, o, now)
		return nil
	}
	return e.begin(o, s, now)
}

// leave is called after done: another request may begin.
func (e *engine) leave(w *write) {
	now := time.Now()
	o := w.object
	n := o.namespace
	o.writing = nil
	n.busy--
	e.busy--
	close(e.answered)
	e.answered = make(chan struct{})
	e.schedule(o, now)
	e.release(n, now)
	if w.isProbe {
		e.probes--
	}
}

// begin takes the tokens of the next request about an object. The token of a
// new Event is taken when the Event exists. gate holds other workers off, so
// the total cap still has the token that was there.
func (e *engine) begin(o *object, s *series, now time.Time) *write {
	n := o.namespace
	n.busy++
	e.busy++
	e.total.AllowN(now, 1)
	o.requests.AllowN(now, 1)
	w := &write{
		object:      o,
		series:      s,
		n:           s.n,
		isNew:       s.isNews(),
		isChange:    s.isChange,
		isProbe:     n.isFailing(),
		core:        e.sink.events == nil || o.isRefused || now.Before(n.coreUntil),
		number:      s.stored.number,
		count:       s.stored.count + s.n,
		hash:        s.hash,
		text:        s.text,
		annotations: s.annotations,
		since:       s.since,
		last:        s.last,
	}
	s.n = 0
	s.isChange = false
	o.writing = w
	if w.isProbe {
		e.probes++
	}
	if !w.isNew {
		return w
	}
	w.count = w.n
	w.number = s.unsure.number
	w.isUnsure = w.number != 0
	if !w.isUnsure {
		s.isOld = false
		e.lastNumber = max(now.UnixNano(), e.lastNumber+1)
		w.number = e.lastNumber
	}
	return w
}

// done accounts for a request.
func (e *engine) done(w *write, got reply, why string) {
	now := time.Now()
	s := w.series
	o := w.object
	n := o.namespace
	if got != written {
		s.putBack(w, now)
	}
	if got <= namespaceFails { // the server takes requests
		e.server = health{}
	}
	isStored := got == nameTaken && w.isUnsure // by an earlier attempt
	switch {
	case got == written, isStored:
		e.wrote(w, isStored, now)
	case got == nameTaken:
		e.again(o, firstRetry, longestRetry, now)
	case got == eventGone:
		s.stored = stored{}
	case got == rejected:
		e.reject(w, why, now)
	case got == namespaceGone:
		n.fail(now, longestRetry)
		e.dropWaiting(o, why, now)
	case got == interrupted:
		s.attempted(w, now)
	case got == groupRefused && !w.core && e.sink.core != nil:
		n.refusal = why
		o.isRefused = true
	case got == groupRefused:
		e.denied(o, why, now)
	default:
		s.attempted(w, now)
		e.failed(o, got, why, now)
	}
	ep := o.episode(s.controller)
	if s.kind == recovery && ep != nil && ep.failure != "" {
		e.dropRecovery(o, s.controller) // the object fails again
	}
	if e.isClosed {
		e.dropAll(o, LostShutdown, tooSlow)
	}
}

// putBack has what a request did not report wait again, behind what waits.
func (s *series) putBack(w *write, now time.Time) {
	s.n += w.n
	s.since = w.since
	s.order = now
	s.isChange = s.isChange || w.isChange
}

// wrote is called when an Event has reported occurrences. If isStored is true,
// an earlier attempt had, and the occurrences were put back.
func (e *engine) wrote(w *write, isStored bool, now time.Time) {
	s := w.series
	o := w.object
	n := w.n
	isFree := o.isFree(s)
	switch {
	case isStored:
		n = min(s.unsure.count, s.n)
		s.n -= n
		s.since = s.last // of what came after that attempt
		s.stored = s.unsure
		s.isChange = s.isOld
	case w.isNew:
		s.stored = stored{number: w.number, count: w.count, hash: w.hash}
	default:
		s.stored.count = w.count
	}
	switch {
	case isFree:
		o.reasons = append(o.reasons, s.reason)
	case w.isNew && !w.isUnsure:
		o.newEvents.AllowN(now, 1)
	}
	s.unsure = stored{}
	s.due = now.Add(s.pause)
	s.pause = min(2*s.pause, longestPause)
	e.stats.Pending -= n
	e.stats.Written++
	o.failures = 0
	o.namespace.health = health{}
	if o.isRefused {
		o.isRefused = false
		o.namespace.coreUntil = now.Add(routeTime)
	}
}

// again has the next request about an object wait.
func (e *engine) again(o *object, first, longest time.Duration, now time.Time) {
	e.stats.Retried++
	if o.failures == 0 {
		o.failing = now
	}
	o.failures++
	pause := min(first<<min(o.failures-1, 16), longest)
	o.retry = now.Add(pause)
}

// failed has a request made again later.
func (e *engine) failed(o *object, got reply, why string, now time.Time) {
	n := o.namespace
	h := &n.health
	longest := longestRetry
	if got == serverFails {
		h = &e.server
		longest = longestProbe
	}
	h.fail(now, longest)
	e.again(o, firstRetry, longestRetry, now)
	e.complain(h, o, why, now)
}

// denied has a request made again that no group of events takes, by both.
func (e *engine) denied(o *object, why string, now time.Time) {
	n := o.namespace
	if o.isRefused { // either permission is enough
		why = n.refusal + "; " + why
		o.isRefused = false
	}
	n.refusal = why
	n.fail(now, longestDenial)
	n.isDenied = true
	e.again(o, firstDenial, longestDenial, now)
	e.complain(&n.health, o, why, now)
}

// complain has the log say, at most once a minute, that all requests fail, or
// those about one object.
func (e *engine) complain(h *health, o *object, why string, now time.Time) {
	since := h.failing
	if o.failing.Before(since) {
		since = o.failing
	}
	if now.Sub(since) >= troubleTime && now.Sub(e.troubled) >= time.Minute {
		e.trouble = why
		e.troubled = now
		e.changed.Broadcast()
	}
}

// reject gives up what a request did not report, because the API server finds
// it invalid. The same text waits for a pause.
func (e *engine) reject(w *write, why string, now time.Time) {
	s := w.series
	n := w.n
	s.due = now
	if s.hash == w.hash {
		n = s.n
		s.due = now.Add(s.pause)
		s.pause = min(2*s.pause, longestPause)
	}
	s.n -= n
	s.stored = stored{}
	s.unsure = stored{}
	e.stats.Pending -= n
	e.lose(LostRejected, n, why)
}

// dropAll gives up everything that waits about an object.
func (e *engine) dropAll(o *object, cause, detail string) {
	for _, s := range o.series {
		e.drop(s, cause, detail)
	}
}
