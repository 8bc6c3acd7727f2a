// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"

	"k8s.io/klog/v2"
)

// ErrStarted is returned by a second Start: a Recorder runs once.
var ErrStarted = errors.New("events: the Recorder was started before")

// Start writes events until ctx ends, then what is pending, counts included,
// within Options.DrainTimeout. It returns when its goroutines have ended: with
// a [LostError] if it could not write all events that were pending when ctx
// ended or were recorded later, and nil otherwise. Counts that could not be
// written in time are not lost, because their Event is stored. Earlier losses
// are in [Stats] and in the log.
//
// Start logs to the logger that logr.FromContext finds in ctx, and to klog
// without one: the first loss of each cause and then one line a minute with
// their number, a change of API group, and a Scheme that is not set. Start
// again is [ErrStarted].
func (r *Recorder) Start(ctx context.Context) error {
	if r == nil {
		<-ctx.Done()
		return nil
	}
	started := false
	r.locked(func() {
		started = r.running || r.closed
		r.running = true
	})
	if started {
		return ErrStarted
	}
	if r.o.Disabled {
		<-ctx.Done()
		return nil
	}

	log := klog.FromContext(ctx)
	if r.o.Scheme == nil {
		log.Info("Options.Scheme is not set: Events about objects from informers and typed clients are dropped, because these carry no kind")
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { r.work(work, log, nil) })
	}
	<-ctx.Done()
	var before [causes]int64
	r.locked(func() {
		for c, l := range r.losses {
			before[c] = l.total
		}
	})
	grace, cancel := context.WithTimeout(work, r.o.DrainTimeout)
	defer cancel()
	deadline := r.now().add(r.o.DrainTimeout)
	// What is left when the grace is over is counted below.
	_ = r.drain(grace, func() bool { return r.written(deadline) })
	r.locked(func() { r.closed = true })
	stop()
	all.Wait()
	return r.close(log, before)
}

// NeedLeaderElection is false: a manager that is not the leader has events too.
// With mgr.Add(rec) the Recorder ends before the reconcilers do, and their last
// events are lost. [Recorder.RunWith] writes them.
func (r *Recorder) NeedLeaderElection() bool { return false }

// Flush writes all pending events and counts. It does not wait for the ends of
// pauses. It waits for caps, for denied permissions, and for a server that
// asked for time. It returns when nothing is pending or when ctx ends, then
// with the number of occurrences left and the cause. Flush uses the workers of
// [Recorder.Start]. If Start does not run, Flush runs its own and ends them.
// Its error also has a [LostError] if events were lost since New. Each loss is
// returned once, by a Flush or by Start.
func (r *Recorder) Flush(ctx context.Context) error {
	if r == nil || r.o.Disabled {
		return nil
	}
	running := false
	r.locked(func() { running = r.running || r.closed })
	nothing := func() bool { return r.closed || r.written(-1) }
	if running {
		_ = r.drain(ctx, nothing) // what is left is counted below
	} else {
		r.hurryUp(1)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() { r.work(ctx, klog.FromContext(ctx), nothing) })
		}
		all.Wait()
		r.hurryUp(-1)
	}
	var left, lost error
	r.locked(func() {
		if ctx.Err() != nil && !nothing() {
			left = fmt.Errorf("events: flush: %d occurrences are pending: %w", r.pending, context.Cause(ctx))
		}
		lost = r.lost([causes]int64{})
	})
	return errors.Join(left, lost)
}

// drain lets the workers write everything, until done reports true under mu or
// ctx ends.
func (r *Recorder) drain(ctx context.Context, done func() bool) error {
	r.hurryUp(1)
	defer r.hurryUp(-1)
	for {
		var end bool
		var changed <-chan struct{}
		r.locked(func() {
			if end = done(); !end {
				changed = r.watch()
			}
		})
		if end {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hurryUp ends the pauses of counts, while n is positive, and puts every object
// where it then belongs. Where a caller waits for the end, what failed is tried
// immediately, unless the server asked to be left alone: a pause may be longer
// than the time that is left.
func (r *Recorder) hurryUp(n int) {
	now := r.now()
	r.locked(func() {
		if r.flushers += n; n > 0 {
			r.plan.server.hurry()
			for _, l := range r.plan.lanes {
				l.hurry()
				r.plan.list(l)
			}
		}
		for _, e := range slices.Clone(r.plan.later) {
			for s := e.series; s != nil && n > 0; s = s.older {
				if s.denied == 0 {
					s.retry = 0
				}
			}
			r.settle(e, now)
		}
		r.notify()
	})
}

// written reports whether nothing is left to write. With a deadline that is not
// negative it ignores counts, and writes whose token comes later. mu must be
// held.
func (r *Recorder) written(deadline instant) bool {
	if r.plan.busy+r.plan.ready > 0 {
		return false
	}
	for _, e := range r.plan.later {
		if deadline < 0 || e.at < deadline && e.claim() != update {
			return false
		}
	}
	return true
}

const tooSlow = "not written within Options.DrainTimeout"

// close counts the unwritten occurrences and logs the losses. A write of a
// Flush that is still under way is counted when it ends.
func (r *Recorder) close(log logr.Logger, before [causes]int64) (err error) {
	now := r.now()
	var lost []line
	r.locked(func() {
		for _, e := range r.entries {
			for s := e.series; s != nil; s = s.older {
				if !s.busy {
					r.drop(s, s.pending, shutdown, tooSlow)
				}
			}
		}
		clear(r.entries)
		r.idle, r.normals = list{}, list{}
		r.signal()
		for c := range r.losses {
			r.losses[c].next = now
		}
		lost, _ = r.unlogged(now)
		for c := range r.losses {
			r.losses[c].returned = max(r.losses[c].returned, before[c])
		}
		err = r.lost(before)
	})
	r.report(log, lost)
	return err
}
