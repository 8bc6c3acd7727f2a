// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/proompteng/controllerkit/events/internal/caller"
	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// tooSlow says why an event was not written.
const tooSlow = "not written before RunWith ended: raise Options.DrainTimeout or Options.WritesPerMinute, " +
	"or call Flush before run returns with an error"

// abrupt is how long RunWith writes events where workers may still run. Until
// it returns, the process runs at the same time as the next leader.
const abrupt = time.Second

// RunWith calls run with ctx, as a manager's Start is called, and writes events
// until run has returned, and then the pending ones. This includes the events
// of reconciles that finish while the manager stops. It returns the error of
// run alone: lost events are in the log and in [Stats]. A second RunWith is an
// error and does not call run. On a nil or disabled Recorder, RunWith only
// calls run.
//
// run must return only when its workers have ended, as the Start of a manager
// and the Run of a controller do. Then the manager may release the lease when
// it stops (LeaderElectionReleaseOnCancel): RunWith writes only events after
// it. Call RunWith around client-go's leaderelection.RunOrDie, not in
// OnStartedLeading: RunOrDie does not wait for that function, so the process
// ends before the last events are written.
//
// After a clean stop RunWith writes for up to Options.DrainTimeout. A stop is
// clean if ctx has ended, and run returned nil, context.Canceled, or the error
// or the cause of ctx. Otherwise RunWith returns within a second, because
// workers may still run, as after a lost lease. A command that ends by itself
// calls [Recorder.Flush] before run returns.
//
// RunWith logs to the logger that logr.FromContext finds in ctx, and to klog
// without one: losses by cause, requests that keep failing, a change of API
// group, and a Scheme that is not set. If no caller has called RunWith or Flush
// a minute after the first event, or at the first loss, the next call of the
// Recorder logs that to klog, once.
func (r *Recorder) RunWith(ctx context.Context, run func(ctx context.Context) error) error {
	if r.off() {
		return run(ctx)
	}
	isFirst := false
	r.locked(func() {
		isFirst = !r.isStarted
		r.isStarted = true
	})
	if !isFirst {
		return errors.New("events: runWith: the Recorder was started before; want one RunWith of a Recorder")
	}
	log := r.logger(ctx)
	r.logScheme(log)
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var writer sync.WaitGroup
	writer.Go(func() { r.writeUntil(writing, log, func() bool { return false }) })
	limit := min(abrupt, r.o.DrainTimeout)
	defer func() { // also where run panics
		r.drain(writing, log, limit)
		stop()
		writer.Wait()
		r.close(log)
	}()
	err := run(ctx)
	if clean(ctx, err) {
		limit = r.o.DrainTimeout
	}
	return err
}

// drain has what is pending written, as far as a time allows.
func (e *engine) drain(ctx context.Context, log logr.Logger, limit time.Duration) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	deadline := time.Now().Add(limit)
	e.flush(limited, log, func() bool { return e.isWritten(deadline) })
}

// clean reports whether a function that returned err ended because ctx did, and
// not for another reason as well.
func clean(ctx context.Context, err error) (yes bool) {
	var panicked error
	defer caller.Catch(err, &panicked)
	if ctx.Err() == nil {
		return false
	}
	if err == nil || errtree.Canceled(err) {
		return true
	}
	// Not the other way round: the error of a manager whose grace period was
	// exceeded wraps the error of a context.
	return errors.Is(ctx.Err(), err) || errors.Is(context.Cause(ctx), err)
}

// close ends the Recorder: what waits is lost.
func (e *engine) close(log logr.Logger) {
	var lines []loss
	e.locked(func() {
		e.isClosed = true
		for _, o := range e.objects {
			switch {
			case o.writing != nil: // a worker of a Flush accounts for it
			case o.namespace.isDenied:
				e.dropAll(o, LostForbidden, o.namespace.refusal)
			default:
				e.dropAll(o, LostShutdown, tooSlow)
			}
		}
		clear(e.objects)
		clear(e.namespaces)
		e.seriesCount = 0
		lines = e.losses.takeUnlogged()
	})
	report(log, lines)
}

// Flush writes all pending events and counts, and returns when nothing is
// pending. It waits for the caps, not for pauses or a token for a new Event,
// and repeats failed requests immediately. It waits as long as the API server
// refuses: give ctx a deadline. If ctx ends first, Flush returns an error with
// the number of occurrences that are left, which wraps the cause of ctx. Lost
// events are in [Stats].
//
// Flush uses the workers of [Recorder.RunWith]. If none run, Flush runs its own
// and ends them. After RunWith has returned, it writes nothing. Call it before
// a step that is to come after an Event, such as the deletion of its object.
func (r *Recorder) Flush(ctx context.Context) error {
	if r.off() {
		return nil
	}
	// The workers look at their context under mu, and ctx may be the caller's
	// code.
	flushing, cancel := context.WithCancel(ctx)
	defer cancel()
	r.flush(flushing, r.logger(ctx), func() bool { return r.stats.Pending == 0 })
	var pending int64
	r.locked(func() { pending = r.stats.Pending })
	if pending == 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("events: flush: %d occurrences are pending: %w", pending, context.Cause(ctx))
}

// flush has everything written, until done reports true under mu or ctx ends.
// What failed is tried again now, and no pause counts.
func (e *engine) flush(ctx context.Context, log logr.Logger, done func() bool) {
	e.locked(func() {
		e.flushing++
		e.server.until = time.Time{}
		close(e.answered)
		e.answered = make(chan struct{})
		for _, n := range e.namespaces {
			n.until = time.Time{}
			n.waker = nil
		}
		for _, o := range e.objects {
			o.retry = time.Time{}
		}
		e.plan()
	})
	e.writeUntil(ctx, log, done)
	e.locked(func() { e.flushing-- })
}

// plan looks at all objects again.
func (e *engine) plan() {
	now := time.Now()
	for _, o := range e.objects {
		e.schedule(o, now)
	}
	for _, n := range e.namespaces {
		e.release(n, now)
	}
}

// writeUntil waits until done reports true under mu or ctx ends. If no workers
// run, it has some write in the meantime, and ends them.
func (e *engine) writeUntil(ctx context.Context, log logr.Logger, done func() bool) {
	wake := context.AfterFunc(ctx, func() { e.locked(e.changed.Broadcast) })
	defer wake()
	e.mu.Lock()
	defer e.mu.Unlock()
	for ctx.Err() == nil && !done() {
		if e.queue != nil {
			e.changed.Wait()
			continue
		}
		stop := e.startWorkers(ctx, log)
		for ctx.Err() == nil && !done() {
			e.awaitChange(log)
		}
		e.mu.Unlock()
		stop()
		e.mu.Lock()
		e.queue = nil
		e.changed.Broadcast()
	}
}

// startWorkers starts workers, which stop ends. mu must be held.
func (e *engine) startWorkers(ctx context.Context, log logr.Logger) (stop func()) {
	working, cancel := context.WithCancel(ctx)
	q := newQueue()
	gate := make(chan struct{}, 1)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			isOver := false
			for !isOver {
				isOver = e.turn(working, log, q, gate)
			}
		})
	}
	e.queue = q
	e.unstarted.isOver = true
	for _, o := range e.objects {
		o.planned = time.Time{}
		o.isParked = false
	}
	for _, n := range e.namespaces {
		n.waiting = nil
		n.waker = nil
	}
	e.plan()
	return func() {
		cancel()
		q.ShutDown()
		all.Wait()
	}
}

// awaitChange logs what is due, or waits for a change. mu must be held.
func (e *engine) awaitChange(log logr.Logger) {
	now := time.Now()
	isQuiet := now.Before(e.quiet)
	var lines []loss
	if !isQuiet {
		lines = e.losses.takeUnlogged()
	}
	trouble := e.trouble
	if len(lines) == 0 && trouble == "" {
		if isQuiet {
			timer := time.AfterFunc(e.quiet.Sub(now), func() { e.locked(e.changed.Broadcast) })
			defer timer.Stop()
		}
		e.changed.Wait()
		return
	}
	if len(lines) > 0 {
		e.quiet = now.Add(time.Minute)
	}
	e.trouble = ""
	pending := e.stats.Pending
	e.mu.Unlock()
	report(log, lines)
	reportTrouble(log, trouble, pending)
	e.mu.Lock()
}

// isWritten reports whether nothing is left to write before deadline but
// counts. A count is written where that takes no time: now, and if the server
// and the namespace answer.
func (e *engine) isWritten(deadline time.Time) bool {
	for _, o := range e.objects {
		if !e.isWrittenAbout(o, deadline) {
			return false
		}
	}
	return true
}

func (e *engine) isWrittenAbout(o *object, deadline time.Time) bool {
	now := time.Now()
	isWell := !o.namespace.isFailing() && !e.server.isFailing()
	if o.writing != nil && (isWell || o.writing.isNew) {
		return false
	}
	return !slices.ContainsFunc(o.series, func(s *series) bool {
		at := e.ready(o, s, now)
		isDue := s.isNews() && at.Before(deadline) || isWell && !at.After(now)
		return s.n > 0 && isDue
	})
}
