// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	quickTime = time.Second      // in which an answer is expected: without it a namespace is suspect
	trialTime = 10 * time.Second // that a request in a suspect namespace may take
	// Requests share a deadline for so long, since to make one costs as much as
	// to format a note.
	spareTime = 250 * time.Millisecond
)

// A job is one request.
type job struct {
	e       *entry
	s       *series
	draft   *draft // nil for an update of a series
	carried int64  // the occurrences it reports
	begun   instant
	core    bool
	trial   bool // its lane was suspect when it began
}

// work writes until ctx ends or, if it is given, until done reports true under
// mu.
func (r *Recorder) work(ctx context.Context, log logr.Logger, done func() bool) {
	defer r.notify() // who wakes this worker expects that one of them looks for work
	quick := deadlines(ctx)
	for ctx.Err() == nil {
		now := r.now()
		var j job
		var w write
		var found, end bool
		var wait time.Duration
		var lost []line
		var changed <-chan struct{}
		r.locked(func() {
			if done != nil {
				if end = done(); end {
					return
				}
				changed = r.watch()
			}
			if j, wait, found = r.next(now); found {
				w = r.prepare(&j, now)
			}
			var due time.Duration
			if lost, due = r.unlogged(now); due > 0 && (wait < 0 || due < wait) {
				wait = due
			}
		})
		r.report(log, lost)
		switch {
		case end:
			return
		case !found:
			r.await(ctx, wait, changed)
		default:
			r.attempt(ctx, log, quick, &j, &w)
		}
	}
	quick(-1)
}

// attempt makes the request of j.
func (r *Recorder) attempt(ctx context.Context, log logr.Logger, quick func(instant) context.Context, j *job, w *write) {
	var annotations map[string]string
	if j.draft != nil {
		annotations = j.draft.annotations
	}
	if err := r.redact(w, annotations); err != nil {
		r.locked(func() {
			r.plan.end(j.e.lane, j.trial)
			r.refuse(j, rejected, err.Error(), r.now())
			j.s.refused, j.s.due = 0, 0 // the next occurrence tries again
			r.release(j, r.now())
		})
		return
	}
	if j.trial {
		trial, cancel := context.WithTimeout(ctx, trialTime)
		defer cancel()
		r.finish(ctx, log, j, r.sink.write(trial, w))
		return
	}
	r.finish(ctx, log, j, r.sink.write(quick(j.begun), w)) //nolint:contextcheck // derived from ctx
}

// deadlines returns a function that gives each request, which begins at now,
// its context, and that ends the last of them when now is negative.
func deadlines(ctx context.Context) func(now instant) context.Context {
	var current context.Context
	var until instant
	cancel := func() {}
	return func(now instant) context.Context {
		if now < 0 || until < now.add(quickTime) {
			cancel()
			until = now.add(quickTime + spareTime)
			current, cancel = context.WithTimeout(ctx, quickTime+spareTime) //nolint:fatcontext // derived from ctx each time
		}
		if now < 0 {
			cancel()
		}
		return current
	}
}

// await returns after wait, when there may be work, when changed is closed, or
// when ctx ends; a negative wait has no end.
func (r *Recorder) await(ctx context.Context, wait time.Duration, changed <-chan struct{}) {
	var elapsed <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-r.wake:
	case <-elapsed:
	case <-changed:
	case <-ctx.Done():
	}
}

// next takes the request to make now. When there is none, it returns how long
// to wait before asking again; negative means until notified. mu must be held.
func (r *Recorder) next(now instant) (j job, wait time.Duration, found bool) {
	if r.closed {
		return j, -1, false // settle no longer moves entries
	}
	for e := r.plan.due(now); e != nil; e = r.plan.due(now) {
		r.settle(e, now)
	}
	for {
		l, wait := r.plan.next(r.total(), r.pace(), now)
		if l == nil {
			return j, wait, false
		}
		e := l.ready[0]
		s, at := e.work(r.perObject, now, r.flushers > 0)
		if s == nil || at > now { // a flush has ended
			r.settle(e, now)
			continue
		}
		trial := l.suspect
		r.plan.begin(l, r.total(), r.pace(), now)
		e.unlink()
		e.busy, s.busy = true, true
		j = job{e: e, s: s, draft: s.draft, carried: s.pending, begun: now, core: r.sink.useCore(l, r.plan.core, now), trial: trial}
		if j.draft != nil {
			if j.draft.unsure {
				j.carried = j.draft.carried // an update reports later ones
			}
			j.draft.carried = j.carried
		}
		if r.plan.ready > 0 {
			r.notify()
		}
		return j, 0, true
	}
}

// finish accounts for one request.
func (r *Recorder) finish(ctx context.Context, log logr.Logger, j *job, err error) {
	cut := err != nil && ctx.Err() != nil // by the caller's end: nothing is learnt from it
	st := nextStep(err, j.draft != nil)
	why := explain(err, r.o.Redact)
	now := r.now()
	var d *detour
	r.locked(func() {
		l, s := j.e.lane, j.s
		r.plan.end(l, j.trial)
		j.e.bucket.take(r.perObject, now)
		if st == rename && j.draft.unsure {
			st = done // by an attempt that seemed to fail
		}
		if cut {
			r.retry(j, now, nil)
			s.retry = 0
			r.release(j, now)
			return
		}
		if st == done || st == recreate || st == rename || st == reject {
			d = r.plan.accept(l, j.core, now)
		}
		b := r.learn(j, st, err, now)
		switch st {
		case done:
			r.stored(j, now)
		case recreate:
			r.vanished(j, now)
		case otherGroup, otherService:
			r.denied(j, err, now)
		case rename:
			again := j.draft.renamed // not by chance
			j.draft.number, j.draft.renamed = 0, true
			if again {
				l.fail(j.begun, now)
				r.expire(j, why, now, &l.breaker)
				j.draft.unsure = false
			} else {
				r.stats.Retried++
			}
		case waitNamespace, waitServer:
			r.expire(j, why, now, b)
		default:
			r.refuse(j, st.cause(), why, now)
		}
		r.release(j, now)
	})
	if d != nil {
		log.Info("Events go to core/v1: events.k8s.io/v1 refused them", "for", d.length.String(), "cause", explain(d.refused, r.o.Redact))
	}
}

// learn updates the breakers by an answer, and returns the breaker that opened.
func (r *Recorder) learn(j *job, st step, err error, now instant) *breaker {
	l, server := j.e.lane, &r.plan.server
	switch st {
	case waitServer:
		server.fail(j.begun, now)
		r.plan.asked = max(r.plan.asked, now.add(min(retryAfter(err), r.o.RetryTimeout)))
		return server
	case waitNamespace:
		r.plan.judge(l, true)
		l.fail(j.begun, now)
		if !timedOut(err) {
			server.succeed(now)
		} else if server.faults > 0 {
			server.fail(j.begun, now)
		}
		return &l.breaker
	case done, recreate, rename:
		server.succeed(now)
		l.succeed(now)
		r.plan.judge(l, now.since(j.begun) > quickTime+spareTime)
	default: // the answer came, and refuses
		server.succeed(now)
		l.faults = 0
		r.plan.judge(l, true)
	}
	return nil
}

// release lets the next write about the object begin.
func (r *Recorder) release(j *job, now instant) {
	j.e.busy, j.s.busy = false, false
	r.settle(j.e, now)
	r.plan.list(j.e.lane)
	r.notify()
	r.signal()
}

// retry has the write made again.
func (r *Recorder) retry(j *job, now instant, b *breaker) {
	if r.closed {
		r.drop(j.s, j.carried, shutdown, tooSlow)
		return
	}
	r.stats.Retried++
	if j.draft != nil {
		j.draft.unsure = true
	}
	if j.s.failing == 0 {
		j.s.failing = now
	}
	if b != nil && b.aging == nil && j.draft != nil {
		b.aging = j.s
	}
	j.s.again(now)
}

// expire makes the write again, or gives up a new Event after RetryTimeout. In
// an outage only one Event at a time grows old: the others wait for its end.
func (r *Recorder) expire(j *job, why string, now instant, b *breaker) {
	s := j.s
	old := j.draft != nil && s.failing != 0 && now.since(s.failing) >= r.o.RetryTimeout
	if old && !r.closed && (b.aging == s || b.proved > s.failing) {
		b.aging = nil
		r.refuse(j, expired, why, now)
		return
	}
	if b.aging == nil && b.proved <= s.failing {
		s.failing = now // it begins to age
	}
	r.retry(j, now, b)
}

// denied is called when an API group did not take a write. The other group is
// tried next; when neither takes it, both are tried once more after a moment.
func (r *Recorder) denied(j *job, err error, now instant) {
	l, s := j.e.lane, j.s
	if l.refuse(r.sink, j.core, err) && !r.closed {
		r.stats.Retried++
		s.retry = 0
		return
	}
	err = l.verdict(err)
	if s.denied == 0 {
		s.denied = now
	}
	if s.refused == 0 && now.since(s.denied) < patience && !r.closed {
		r.stats.Retried++
		s.retry = now.add(patience)
		return
	}
	r.refuse(j, nextStep(err, true).cause(), explain(err, r.o.Redact), now)
}

func (r *Recorder) stored(j *job, now instant) {
	s := j.s
	if j.draft != nil {
		s.event, s.count = j.draft.number, 0
	}
	if s.draft == j.draft {
		s.draft = nil
	}
	s.count += j.carried
	s.wrote(j.carried, j.begun, now, r.o.MaxUpdateInterval)
	r.pending -= j.carried
	r.countWritten(j.carried)
}

// vanished is called when an Event has outlived its TTL: the next occurrence
// makes a new one, or the note that waits does.
func (r *Recorder) vanished(j *job, now instant) {
	s := j.s
	if s.draft == nil {
		r.drop(s, s.pending, expired, "")
		s.hash, s.due = 0, now
	}
	s.event, s.retry, s.denied = 0, 0, 0
}

// refuse gives up the write of j, and what waited for it.
func (r *Recorder) refuse(j *job, c cause, why string, now instant) {
	s := j.s
	n := j.carried
	if s.draft == j.draft {
		n = s.pending
		s.draft, s.event, s.hash = nil, 0, 0
	} // otherwise a changed note still waits, and makes an Event
	s.pending -= n
	r.pending -= n
	r.lose(c, n, why)
	s.retry, s.failing, s.denied, s.tries = 0, 0, 0, 0
	s.rest(now, r.o.MaxUpdateInterval)
	if c == expired {
		s.due = now // it was not the Event's fault: the next occurrence tries again
	} else {
		s.refused = c
	}
}

// notify wakes a worker. It never blocks.
func (r *Recorder) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// watch returns a channel that is closed when a write ends or an object leaves.
// mu must be held.
func (r *Recorder) watch() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// signal closes the channel of watch. mu must be held.
func (r *Recorder) signal() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
