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

	"github.com/proompteng/controllerkit/events/internal/errtree"
)

// ErrStarted is returned by a second Start or RunWith: a Recorder runs once.
var ErrStarted = errors.New("events: the Recorder was started before")

// Start writes events until ctx ends. Then it writes pending events and counts
// for up to Options.DrainTimeout. It does not wait for an object's cap if only
// a count is left, or if the cap opens too late. A count that is left is not
// lost, because its Event is stored. Start returns when its goroutines have
// ended. It returns a *[LostError] if it could not write all new Events that
// were pending when ctx ended or were recorded later, otherwise nil. Earlier
// losses are in [Stats] and in the log. Events recorded after Start has
// returned are counted in Stats, and not logged.
//
// If neither Start, [Recorder.RunWith] nor [Recorder.Flush] is called within a
// minute after the first event, or before the first loss, the next call of the
// Recorder logs that to klog, once.
//
// Start logs to the logger that logr.FromContext finds in ctx, and to klog
// without one: the first loss of each cause and then one line a minute with
// their number, a change of API group, and a Scheme that is not set. A second
// Start returns [ErrStarted] immediately. On a nil or disabled Recorder, Start
// waits for ctx.
func (r *Recorder) Start(ctx context.Context) error {
	if !r.begin() {
		return ErrStarted
	}
	if r.off() {
		<-ctx.Done()
		return nil
	}
	return r.writeUntilEnd(ctx, func() time.Duration { return r.o.DrainTimeout })
}

// begin reports whether this is the first call of Start or RunWith. A nil
// Recorder may be started again.
func (r *Recorder) begin() (first bool) {
	if r == nil || r.engine == nil {
		return true
	}
	r.locked(func() {
		first = !r.running
		r.running = true
		r.unstarted.begun = true
	})
	return first
}

// writeUntilEnd is Start after begin. When ctx has ended, timeout returns how
// long it goes on.
func (r *Recorder) writeUntilEnd(ctx context.Context, timeout func() time.Duration) error {
	log := r.logger(ctx)
	if r.o.Scheme == nil {
		safely(func() {
			log.Info("Options.Scheme is not set: Events about objects from informers and typed clients " +
				"are dropped, because these carry no kind; set it, such as to mgr.GetScheme()")
		})
	}
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { r.run(writing, log, nil) })
	<-ctx.Done()
	limit := timeout()
	r.locked(func() {
		_ = r.book.losses.claim() // before the stop
		if limit < r.o.DrainTimeout {
			r.book.late = notClean
		}
	})
	grace, cancel := context.WithTimeout(writing, limit)
	defer cancel()
	deadline := r.now().add(limit)
	r.drain(grace, log, func() bool { return r.book.isWritten(deadline) })
	r.locked(func() { r.book.closed = true }) // no new write begins
	stop()
	all.Wait()

	// The workers have ended: what waits is lost. A write of a Flush that is
	// still under way is counted when it ends.
	var lost []loss
	var err error
	r.locked(func() {
		r.book.close()
		lost, _ = r.book.losses.unlogged(r.now(), true)
		err = r.book.losses.claim()
	})
	report(log, lost)
	return err
}

// Why an event was not written before Start ended.
const (
	tooSlow  = "not written before Start ended: raise Options.DrainTimeout or Options.WritesPerMinute"
	notClean = "not written within a second after run had returned, and run did not stop cleanly: " +
		"call Flush before run returns"
)

// abrupt is how long RunWith writes events where workers may still run. Until
// it returns, the process runs at the same time as the next leader.
const abrupt = time.Second

// RunWith calls run with ctx, as a manager's Start is called, and writes events
// until run has returned, and then the pending ones. This includes the events
// of reconciles that finish while the manager stops. It returns the error of
// run alone: lost events are in the log and in [Stats]. If the Recorder was
// started before, RunWith returns [ErrStarted] and does not call run. On a nil
// or disabled Recorder, RunWith only calls run.
//
// After a clean stop RunWith writes for up to Options.DrainTimeout. A stop is
// clean if ctx has ended, and run returned nil, context.Canceled, or the error
// or the cause of ctx. Otherwise RunWith returns within a second, because
// workers may still run: the lease was lost, or the manager's grace period was
// too short for them. A command that ends by itself calls [Recorder.Flush]
// before run returns.
//
// The manager's grace period plus Options.DrainTimeout must be less than the
// grace period of the pod. By default, controller-runtime's
// GracefulShutdownTimeout and the pod's terminationGracePeriodSeconds are both
// 30 seconds: lower the first, or raise the second.
//
// run must return only when its workers have ended, as the Start of a manager
// and the Run of a controller do. Then the manager may release the lease when
// it stops (LeaderElectionReleaseOnCancel): RunWith writes only events after
// it. Do not use mgr.Add: controller-runtime stops a Runnable that needs no
// leader election before it stops the reconcilers. Call RunWith around
// client-go's leaderelection.RunOrDie, not in OnStartedLeading: RunOrDie does
// not wait for that function, so the process ends before the last events are
// written.
func (r *Recorder) RunWith(ctx context.Context, run func(ctx context.Context) error) error {
	if r.off() {
		return run(ctx)
	}
	if !r.begin() {
		return ErrStarted
	}
	writing, drain := context.WithCancel(context.WithoutCancel(ctx))
	limit := min(abrupt, r.o.DrainTimeout)
	var writer sync.WaitGroup
	writer.Go(func() { _ = r.writeUntilEnd(writing, func() time.Duration { return limit }) }) // which logs the losses
	defer writer.Wait()                                                                       // also where run panics
	defer drain()
	err := run(ctx)
	if clean(ctx, err) {
		limit = r.o.DrainTimeout
	}
	drain()
	writer.Wait()
	return err
}

// clean reports whether a function that returned err ended because ctx did, and
// not for another reason as well.
func clean(ctx context.Context, err error) (yes bool) {
	var panicked error
	defer catch(err, &panicked)
	if ctx.Err() == nil {
		return false
	}
	if err == nil || errtree.Canceled(err) {
		return true
	}
	return same(err, ctx.Err()) || same(err, context.Cause(ctx))
}

// same reports whether a and b are one error. Unlike ==, it compares errors of
// any type. It is false where one wraps the other: the error of a manager whose
// grace period was exceeded wraps the error of a context.
func same(a, b error) bool { return errors.Is(a, b) && errors.Is(b, a) }

// NeedLeaderElection returns false: a manager that is not the leader has events
// too. With mgr.Add(rec) the Recorder ends before the reconcilers do, and their
// last events are lost. [Recorder.RunWith] writes them.
func (r *Recorder) NeedLeaderElection() bool { return false }

// Flush writes all pending events and counts. It does not wait for the ends of
// pauses. It waits for caps, for denied permissions, and for a server that
// asked for time. It returns when nothing is pending. If ctx ends first, it
// returns an error with the number of occurrences that are left, which wraps
// the cause of ctx. Flush uses the workers of [Recorder.Start]. If Start does
// not run, Flush runs its own and ends them. After Start has returned, it
// writes nothing.
//
// Its error also has a *[LostError] with the events lost since the latest of
// New, the last Flush and the end of Start's context. Each loss is returned
// once, by Flush or by Start.
func (r *Recorder) Flush(ctx context.Context) error {
	if r.off() {
		return nil
	}
	// The workers look at their context under mu, and ctx may be the caller's
	// code.
	flushing, cancel := context.WithCancel(ctx)
	defer cancel()
	r.drain(flushing, r.logger(ctx), func() bool { return r.book.closed || r.book.stats.Pending == 0 })
	ended := ctx.Err() != nil
	var pending int64
	var left, lost error
	r.locked(func() {
		if !r.book.closed {
			pending = r.book.stats.Pending
		}
		lost = r.book.losses.claim()
	})
	if ended && pending > 0 {
		left = fmt.Errorf("events: flush: %d occurrences are pending: %w", pending, context.Cause(ctx))
	}
	return errors.Join(left, lost)
}

// drain has everything written, until done reports true under mu or ctx ends.
func (r *Recorder) drain(ctx context.Context, log logr.Logger, done func() bool) {
	r.locked(func() {
		r.unstarted.begun = true
		r.book.flush(r.now())
		r.changed.Broadcast()
	})
	r.run(ctx, log, done)
	r.locked(func() { r.book.unflush(r.now()) })
}
