// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	workers     = 2
	attemptTime = 10 * time.Second       // an attempt without an answer for so long has failed, or a little longer:
	spareTime   = time.Second            // attempts share a deadline for so long, since to make one costs as much as to format a note
	firstPause  = 250 * time.Millisecond // of all workers, after a fault of the server; doubles
	longestWait = 30 * time.Second
	// An API server that comes up knows no roles for a moment, and a role that was just granted takes one to have effect.
	patience = 15 * time.Second
)

// A job is one write and its attempts.
type job struct {
	e         *entry
	s         *series
	draft     *draft // nil for an update of a series
	carried   int64  // the occurrences it tells of
	begun     time.Duration
	attempted time.Duration // the last attempt
	number    int64         // in the name of a new Event; 0 before it has one
	unsure    bool          // an earlier attempt may have been stored after all
	renamed   bool
	again     bool // it failed before, and is being made once more
	probe     bool // it was begun while another one that had failed waits, or is being made
}

// work writes until ctx ends or, if it is given, until done reports true under mu.
func (r *Recorder) work(ctx context.Context, log logr.Logger, done func() bool) {
	defer r.notify() // whom this one was woken for must not sleep on
	// Where nobody listens nothing is taken as said: Start may still say it.
	heard := log.GetSink() != nil
	attempt, end := attempts(ctx)
	defer end()
	for ctx.Err() == nil {
		now := r.now()
		r.mu.Lock()
		if done != nil && done() {
			r.unlock()
			return
		}
		var changed <-chan struct{}
		if done != nil {
			changed = r.watch()
		}
		j, wait := r.next(now)
		var lost lines
		if heard {
			var due time.Duration
			if lost, due = r.unlogged(now); due > 0 && (wait < 0 || due < wait) {
				wait = due
			}
		}
		var w write
		if j != nil {
			w = r.prepare(j, now)
		}
		r.unlock()
		if heard {
			r.report(log, lost)
		}
		switch {
		case j != nil:
			r.finish(ctx, j, r.sink.write(attempt(now), w)) //nolint:contextcheck // what attempt gives is made of ctx
		case wait != 0:
			r.await(ctx, wait, changed)
		}
	}
}

// attempts returns a function that gives each attempt, which begins at now, its context, and one that ends the last of them.
func attempts(ctx context.Context) (attempt func(now time.Duration) context.Context, end func()) {
	var current context.Context
	var until time.Duration
	cancel := func() {}
	attempt = func(now time.Duration) context.Context {
		if until < now+attemptTime {
			cancel()
			until = now + attemptTime + spareTime
			current, cancel = context.WithTimeout(ctx, until-now) //nolint:fatcontext // made of ctx, not of the one before
		}
		return current
	}
	return attempt, func() { cancel() }
}

// await returns after wait, when there may be work, when changed is closed, or when ctx ends; a negative wait has no end of
// its own.
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

// finish accounts for one attempt.
func (r *Recorder) finish(ctx context.Context, j *job, err error) {
	why := explain(err, r.o.Redact)
	v := judge(err, j.draft != nil)
	now := r.now()
	r.mu.Lock()
	defer r.unlock()
	defer r.signal()
	r.writing--
	if j.again {
		j.again = false
		r.retrying--
	}
	if v == exists && j.unsure {
		v = stored // by an attempt that seemed to fail
	}
	if v != retry && v != exists {
		r.faults = 0
	}
	if v == retry && ctx.Err() == nil { // else the caller's end cut the attempt short: no fault
		r.fault(j, err, now)
	}
	switch {
	case v == stored:
		r.stored(j, now)
	case v == vanished:
		r.vanished(j, now)
	case (v == denied || v == unserved) && j.hold(now):
		r.stats.Retried++
		j.release(r, now)
		return // nothing was written: the object's cap is untouched
	case v != retry && v != exists:
		r.refuse(j, v.cause(), why, now)
	case j.draft == nil:
		// A count can wait for its next turn: nothing is lost by it.
		r.stats.Retried++
		j.s.due = now - r.slack
	case v == retry && j.probe:
		// It waits for another turn, unless a changed note has taken its place, and does not age: in an outage only those that were
		// there first do.
		r.stats.Retried++
		j.unsure = true
		j.leaveNumber()
	case now-j.begun >= r.o.MaxAge:
		r.refuse(j, expired, why, now)
	default:
		if v == exists {
			if j.renamed {
				r.fault(j, err, now) // not by chance
			}
			j.number, j.renamed = 0, true
		}
		j.unsure, j.s.denied = j.unsure || v == retry, 0
		r.retries = append(r.retries, j)
		r.notify()
		return // the object stays busy, so that its events keep their order and its cap
	}
	j.e.bucket.take(now)
	j.release(r, now)
	*j = job{}
	r.spare = j
}

// hold reports whether a write that was denied is made again, and when. The other objects do not wait for it: they may be of
// namespaces where it is granted. A series that was refused before is not worth another wait.
func (j *job) hold(now time.Duration) bool {
	s := j.s
	if s.refused != 0 {
		return false
	}
	if s.denied == 0 {
		s.denied = max(now, 1)
	}
	waited := now - s.denied
	if waited >= patience {
		return false
	}
	s.due = now + max(waited, firstPause)
	j.leaveNumber()
	return true
}

// leaveNumber has the next write of the draft take this one's name, under which an attempt may have been stored.
func (j *job) leaveNumber() {
	if j.draft != nil && j.s.draft == j.draft {
		j.draft.number, j.draft.unsure, j.draft.carried = j.number, j.unsure, j.carried
	}
}

// release lets the next write about the object begin.
func (j *job) release(r *Recorder, now time.Duration) {
	j.e.busy, j.s.busy = false, false
	r.settle(j.e, now)
	r.notify()
}

func (r *Recorder) stored(j *job, now time.Duration) {
	s := j.s
	if j.draft != nil {
		s.event, s.count = j.number, 0
	}
	if s.draft == j.draft {
		s.draft = nil
	}
	s.count += j.carried
	s.wrote(j.carried, j.begun, now, r.o.Quiet)
	r.told(j.carried)
}

// vanished is called when an Event has outlived its TTL: the next occurrence makes a new one, or the note that waits does.
func (r *Recorder) vanished(j *job, now time.Duration) {
	s := j.s
	s.event, s.denied = 0, 0
	if s.draft == nil {
		left := s.drafted()
		r.suppress(s.pending - left)
		s.pending, s.hash, s.due = left, 0, now
	}
}

// refuse gives up the write of j, and what waited for it.
func (r *Recorder) refuse(j *job, c cause, why string, now time.Duration) {
	s := j.s
	r.lose(c, j.carried, why)
	s.pending -= j.carried
	s.denied = 0
	s.rest(now, r.o.Quiet)
	if s.draft != j.draft {
		return // a changed note still waits, and makes an Event of its own
	}
	left := s.drafted()
	r.lose(c, s.pending-left, why)
	s.pending, s.draft, s.event, s.hash = left, nil, 0, 0
	if c == expired {
		s.due = now // the server's fault, not the Event's: the next occurrence tries again
	} else {
		s.refused = c
	}
}

// fault pauses all workers: what failed is the server, not this Event.
func (r *Recorder) fault(j *job, err error, now time.Duration) {
	if r.faults == 0 || j.attempted > r.faulted { // not the other worker's attempt at the same time
		wait := min(firstPause<<min(r.faults, 16), longestWait)
		r.resume = max(r.resume, now+wait)
		r.faulted = now
		r.faults++
	}
	r.asked = max(r.asked, now+min(retryAfter(err), r.o.MaxAge))
	r.resume = max(r.resume, r.asked)
}
