// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/proompteng/controllerkit/events/internal/noretry"
	"github.com/proompteng/controllerkit/internal/isnil"
)

// Requests share a deadline for so long, since to make one costs as much as to
// format a note.
const spareTime = quickTime / 4

// A job is one request.
type job struct {
	write
	e       *entry
	s       *series
	draft   *draft // nil for an update of a series
	carried int64  // the occurrences it reports
	begun   instant
	trial   bool // its lane was suspect when it began
}

// run has the workers write until ctx ends or, if it is given, until done
// reports true under mu.
func (r *Recorder) run(ctx context.Context, log logr.Logger, done func() bool) {
	defer context.AfterFunc(ctx, func() { r.locked(r.changed.Broadcast) })()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { r.work(ctx, log, done) })
	}
	all.Wait()
}

func (r *Recorder) work(ctx context.Context, log logr.Logger, done func() bool) {
	var once noretry.Guard // the caps count requests, and the Recorder waits by itself
	request, cancel, until := ctx, context.CancelFunc(func() {}), instant(0)
	for {
		var j job
		var lost []loss
		r.locked(func() { j, lost = r.await(ctx, done) })
		report(log, lost)
		switch {
		case j.e == nil && lost == nil:
			cancel()
			return
		case j.e == nil:
			continue
		}
		limit := quickTime
		if j.trial {
			limit = trialTime
		}
		if left := until.since(j.begun); left < limit || left > 2*limit || request.Err() != nil {
			cancel()
			until = j.begun.add(limit + spareTime)
			request, cancel = context.WithTimeout(ctx, limit+spareTime) //nolint:fatcontext // derived from ctx each time
			request = once.Context(request, cancel)
		}
		once.Begin()
		r.attempt(ctx, request, &once, log, &j)
	}
}

// await waits for a request to make, or for losses to log. It returns neither
// when ctx has ended or when done reports true. mu must be held.
func (r *Recorder) await(ctx context.Context, done func() bool) (j job, lost []loss) {
	for ctx.Err() == nil && (done == nil || !done()) {
		now, at := r.now(), never
		if done == nil || !r.running { // the workers of Start write, if there are some
			j, at = r.next(now)
		}
		lost, next := r.unlogged(now)
		if j.e != nil || lost != nil {
			return j, lost
		}
		if at = min(at, next); at == never {
			r.changed.Wait()
			continue
		}
		timer := time.AfterFunc(at.since(now), func() { r.locked(r.notify) })
		r.changed.Wait()
		timer.Stop()
	}
	r.notify() // who woke this worker expects that one of them looks for work
	return j, nil
}

// notify wakes a worker. mu must be held.
func (r *Recorder) notify() {
	if r.flushers > 0 {
		r.changed.Broadcast() // some only wait for the end
	} else {
		r.changed.Signal()
	}
}

// next returns the request to make now, or when to ask again. mu must be held.
func (r *Recorder) next(now instant) (j job, at instant) {
	if r.closed {
		return j, never // settle no longer moves entries
	}
	for len(r.plan.later) > 0 && r.plan.later[0].at <= now {
		r.settle(r.plan.later[0], now)
	}
	l, at := r.plan.next(now)
	if l == nil {
		if len(r.plan.later) > 0 {
			at = min(at, r.plan.later[0].at)
		}
		return j, at
	}
	e := l.ready[0]
	s, _, _ := e.work(now, r.flushers > 0)
	e.enqueue(nil, waiting, 0)
	e.move(nil)
	e.busy, s.busy = true, true
	j = job{e: e, s: s, draft: s.draft, carried: s.pending, begun: now, trial: r.plan.begin(l, now)}
	if j.draft != nil {
		if j.draft.unsure {
			j.carried = j.draft.carried // an update reports later ones
		}
		j.draft.carried = j.carried
	}
	j.write = r.prepare(&j, now)
	r.notify()
	return j, now
}

// attempt makes the request of j.
func (r *Recorder) attempt(ctx, request context.Context, once *noretry.Guard, log logr.Logger, j *job) {
	r.redact(j.event)
	st, a, err := r.ask(request, j)
	switch {
	case err != nil:
		st = reject
		a = refusal{why: err.Error(), core: j.core}
	case st == done:
	case ctx.Err() != nil:
		st = interrupted // by the caller's end: nothing is learnt from it
	case a.silent && once.Answered():
		st = waitServer // it asked for time
	}
	var refused *refusal
	var length time.Duration
	r.locked(func() { refused, length = r.finish(j, st, a, r.now()) })
	if refused != nil {
		safely(func() {
			log.Info("Events go to core/v1: events.k8s.io/v1 refused them", "for", length.String(), "detail", refused.why)
		})
	}
}

// ask makes the request of j and reads the answer. It returns an error if the
// client, or an error of the client, panicked.
func (r *Recorder) ask(request context.Context, j *job) (st step, a refusal, err error) {
	defer catch(r.sink, &err)
	answer := r.sink.write(request, &j.write)
	if isnil.Is(answer) {
		return done, refusal{}, nil
	}
	status, _ := apiStatus(answer)
	wait := time.Duration(max(status.Details.RetryAfterSeconds, 0)) * time.Second
	a = refusal{
		why:        explain(answer, r.o.Redact),
		core:       j.core,
		notServed:  notServed(answer),
		silent:     timedOut(answer),
		retryAfter: min(wait, r.o.RetryTimeout),
	}
	return nextStep(answer, j.draft != nil), a, nil
}

// finish accounts for the request of j and lets the next one about the object
// begin. It returns what schedule.accept does.
func (r *Recorder) finish(j *job, st step, a refusal, now instant) (refused *refusal, length time.Duration) {
	l, s := j.e.lane, j.s
	unsure := st != rename
	switch {
	case unsure:
	case j.draft.unsure:
		st = done // by an attempt that seemed to fail
	case j.draft.renamed:
		st = waitNamespace // it takes no name at all
		fallthrough
	default:
		j.draft.number, j.draft.renamed = 0, true
	}
	r.plan.end(j)
	j.e.limiter.take(now)
	if st <= waitServer {
		r.plan.learn(j, st, a.silent, now)
	}
	if st <= reject {
		refused, length = r.plan.accept(l, s, j.core, now)
	}
	switch st {
	case done:
		r.stored(j, now)
	case rename:
		r.again(j, 0, false)
	case recreate:
		r.vanished(j, now)
	case otherGroup, otherService:
		if final := s.refuse(r.sink, a); final == nil {
			r.again(j, 0, false)
		} else if since := s.failed(true, now); s.refused == "" && now.since(since) < patience {
			r.again(j, now.add(patience), false)
		} else if final.notServed { // by no group
			r.refuse(j, LostRejected, final.why, now)
		} else {
			r.refuse(j, LostForbidden, final.why, now)
		}
	case waitServer:
		r.plan.asked = max(r.plan.asked, now.add(a.retryAfter))
		fallthrough
	case waitNamespace:
		r.wait(j, st, unsure, a.why, now)
	case interrupted:
		r.again(j, 0, true)
	case leave:
		r.refuse(j, LostNamespaceGone, a.why, now)
	default:
		r.refuse(j, LostRejected, a.why, now)
	}
	if r.closed { // no later write reports what this one did not
		r.drop(s, s.pending, LostShutdown, r.late)
	}
	j.e.busy, s.busy = false, false
	r.settle(j.e, now)
	r.notify()
	return refused, length
}

// wait has the write made again after a fault, or gives up a new Event after
// RetryTimeout. While no write succeeds, of the server or of the namespace that
// fails, one is given up in each RetryTimeout: the others wait for the end of
// the outage.
func (r *Recorder) wait(j *job, st step, unsure bool, why string, now instant) {
	since, b := j.s.failed(false, now), &r.plan.server
	// Longer than the pauses of a breaker: each attempt takes a token of the
	// object.
	pause := min(max(3*now.since(since), firstPause), longestPause)
	if st == waitNamespace || b.proved > since { // others were written since
		b = &j.e.lane.breaker
	}
	if b.proved <= since {
		since = max(since, b.expired)
	}
	if j.draft != nil && now.since(since) >= r.o.RetryTimeout && !r.closed {
		b.expired = now
		r.refuse(j, LostExpired, why, now)
		j.s.refused, j.s.due = "", now // it was not the Event's fault: the next occurrence tries again
		return
	}
	r.again(j, now.add(pause), unsure)
}

// again has the write of j made again, at the given instant or later. It is
// unsure if it may have been stored.
func (r *Recorder) again(j *job, at instant, unsure bool) {
	if j.draft != nil {
		j.draft.unsure = j.draft.unsure || unsure
	}
	if !r.closed {
		r.stats.Retried++
	}
	j.s.retry = at
}

// stored is called when a write has reported its occurrences.
func (r *Recorder) stored(j *job, now instant) {
	s := j.s
	if j.draft != nil {
		s.event, s.count = j.draft.number, 0
	}
	if s.draft == j.draft {
		s.draft = nil
	}
	s.count += j.carried
	s.pending -= j.carried
	if s.since = j.begun; s.pending == 1 { // or later
		s.since = s.seen
	}
	s.first, s.refused = false, ""
	s.rest(now, r.o.MaxUpdateInterval)
	r.stats.Pending -= j.carried
	r.stats.Written++
	r.stats.Coalesced += j.carried - 1
}

// vanished is called when an Event has outlived its TTL: the next occurrence
// makes a new one, or the note that waits does.
func (r *Recorder) vanished(j *job, now instant) {
	s := j.s
	if s.draft == nil {
		r.drop(s, s.pending, LostExpired, "")
		s.hash, s.due = 0, now
	}
	s.event, s.retry, s.failing = 0, 0, 0
}

// refuse gives up the write of j, and what waited for it.
func (r *Recorder) refuse(j *job, cause, why string, now instant) {
	s := j.s
	n := j.carried
	if s.draft == j.draft {
		n = s.pending
		s.draft, s.event, s.hash = nil, 0, 0
	} // otherwise a changed note still waits, and makes an Event
	r.drop(s, n, cause, why)
	s.rest(now, r.o.MaxUpdateInterval)
	s.refused = cause
}
