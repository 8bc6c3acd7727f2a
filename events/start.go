// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// ErrStarted is returned by a second Start: a Recorder runs once.
var ErrStarted = errors.New("events: the Recorder was started before")

// Start writes events until ctx ends, then what is pending, counts included, within Options.Grace. It returns when all it
// started has ended, with a [LostError] if any event was lost since [New], and nil otherwise. Counts that could not be written
// in time are no loss: the Event that they belong to is stored. Lost events and changes of API group are logged, once a minute
// for each cause, to the logger that logr.FromContext finds in ctx, and nowhere without one. Start again is [ErrStarted].
func (r *Recorder) Start(ctx context.Context) error {
	if r == nil {
		<-ctx.Done()
		return nil
	}
	r.mu.Lock()
	if r.running || r.closed {
		r.unlock()
		return ErrStarted
	}
	r.running = true
	r.unlock()
	if r.o.Disabled {
		<-ctx.Done()
		return nil
	}

	log := logr.FromContextOrDiscard(ctx)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	// These are the only goroutines of the package.
	for range workers {
		all.Go(func() { r.work(work, log, nil) })
	}
	<-ctx.Done()
	grace, cancel := context.WithTimeout(work, r.o.Grace)
	defer cancel()
	deadline := max(r.now()+r.o.Grace, r.o.Grace) // of a sum that is too large the term
	// What is left when the grace is over is counted below.
	_ = r.drain(grace, func() bool { return r.written(deadline) })
	r.mu.Lock()
	r.closed = true
	r.unlock()
	stop()
	all.Wait()
	return r.close(log)
}

// NeedLeaderElection is false: a manager that is no leader has events as well. With mgr.Add(rec) the Recorder ends before the reconcilers
// do, and what they record last is lost: [Recorder.Outlive] has it written.
func (r *Recorder) NeedLeaderElection() bool { return false }

// Flush writes what is pending and every count that is not yet written, without waiting for the ends of pauses but within
// all caps; what was denied, and a server that asked for time, are waited for. It returns when nothing is pending or when ctx
// ends, then with the number of occurrences left and the cause. It uses the workers of [Recorder.Start], or the caller's goroutine
// when Start does not run. Whatever else it returns, a [LostError] tells of events that were lost and that neither Start nor an
// earlier Flush has returned: each loss is returned by one Flush, so that one that is called again and again fails only for what is new.
func (r *Recorder) Flush(ctx context.Context) error {
	if r == nil || r.o.Disabled {
		return nil
	}
	r.mu.Lock()
	running, closed := r.running, r.closed
	r.unlock()
	if closed {
		return r.lost(false) // Start has written or counted everything
	}
	done := func() bool { return r.written(-1) }
	if !running {
		r.hurryUp(1)
		defer r.hurryUp(-1)
		r.work(ctx, logr.Discard(), done)
	} else {
		_ = r.drain(ctx, done) // what is left is counted here
	}
	var left error
	r.mu.Lock()
	if ctx.Err() != nil && !done() {
		left = fmt.Errorf("events: flush: %d occurrences are pending: %w", r.pending(), context.Cause(ctx))
	}
	r.unlock()
	return errors.Join(left, r.lost(false))
}

// drain lets the workers write everything, until done reports true under mu or ctx ends.
func (r *Recorder) drain(ctx context.Context, done func() bool) error {
	r.hurryUp(1)
	defer r.hurryUp(-1)
	for {
		r.mu.Lock()
		if done() {
			r.unlock()
			return nil
		}
		changed := r.watch()
		r.unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hurryUp ends the pauses of counts, while n is positive, and puts every object where it then belongs. Where somebody waits for the end
// the server is tried at once, unless it asked to be left alone: a pause may be longer than the time that is left.
func (r *Recorder) hurryUp(n int) {
	now := r.now()
	r.mu.Lock()
	defer r.unlock()
	if r.hurry += n; n > 0 {
		r.faults, r.resume = 0, min(r.resume, r.asked)
		r.notify()
	}
	for _, e := range append(timers(nil), r.later...) {
		r.settle(e, now)
	}
}

// written reports whether nothing is left to write, or, by a deadline that is not negative, nothing but counts and what no
// token can come in time for. mu must be held.
func (r *Recorder) written(deadline time.Duration) bool {
	if r.writing+r.drafting+len(r.retries)+r.fresh.len+r.updates.len > 0 {
		return false
	}
	for _, e := range r.later {
		if deadline < 0 || e.at < deadline && e.claimed() {
			return false
		}
	}
	return true
}

// close counts what was not written, and reports what was lost.
func (r *Recorder) close(log logr.Logger) error {
	r.mu.Lock()
	for _, e := range r.entries {
		for s := e.series; s != nil; s = s.older {
			if s.event != 0 && s.draft == nil {
				r.suppress(s.pending)
			} else {
				r.lose(shutdown, s.pending, "not written within Options.Grace")
			}
			s.pending = 0
		}
	}
	clear(r.entries)
	r.idle, r.fresh, r.updates, r.later, r.retries = list{}, list{}, list{}, nil, nil
	r.signal()
	lost, _ := r.unlogged(-1)
	r.unlock()
	r.report(log, lost)
	return r.lost(true)
}

// pending is the number of occurrences that no write has told of. mu must be held.
func (r *Recorder) pending() int64 {
	n := r.stats.Recorded - r.stats.Written - r.stats.Coalesced - r.stats.Suppressed
	for _, l := range r.losses {
		n -= l.total
	}
	return n
}

// lines are what is to be logged: one for each cause, once a minute.
type lines []line

type line struct {
	cause  cause
	n      int64
	detail string
}

// unlogged returns what is due for the log, all of it when now is negative, and in how long more is due; 0 means nothing is.
// mu must be held.
func (r *Recorder) unlogged(now time.Duration) (out lines, due time.Duration) {
	for c := range r.losses {
		l := &r.losses[c]
		if l.unlogged == 0 {
			continue
		}
		if now >= 0 && now < l.next {
			if wait := l.next - now; due == 0 || wait < due {
				due = wait
			}
			continue
		}
		out = append(out, line{cause(c), l.unlogged, l.detail})
		l.unlogged = 0
		l.next = now + time.Minute
	}
	return out, due
}

// report logs what was lost, and once for each why Events go to the other API group.
func (r *Recorder) report(log logr.Logger, lost lines) {
	if d := r.sink.detour(); d != nil {
		log.Info("events go to core/v1: events.k8s.io/v1 refused them", "for", d.length.String(), "cause", explain(d.refused, r.o.Redact))
	}
	for _, l := range lost {
		log.Info("events were lost", "cause", l.cause.String(), "count", l.n, "detail", l.detail)
	}
}
