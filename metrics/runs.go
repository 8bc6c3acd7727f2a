// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Runs records the runs of one controller: the Jobs or workflows that it
// starts. Get it from [Controller.Runs]. A nil *Runs records nothing. The zero
// Runs cannot be used.
type Runs struct {
	c       *Controller
	active  atomic.Int64
	ended   *counts
	missing atomic.Int64

	jobTTL, runRetention, logRetention atomic.Int64 // nanoseconds; below 0: unknown
}

// Runs returns the instruments for the runs of the controller, always the same
// ones. A controller that does not ask for them does not export them. From now
// on their counters exist at zero. On a nil Controller it returns nil.
func (c *Controller) Runs() *Runs {
	if c == nil {
		return nil
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	r := c.runs.Load()
	if r == nil {
		// A run is not queued again, so these appear only if recorded.
		r = &Runs{c: c, ended: newResults(c.id, Unknown, Requeue, RequeueAfter)}
		r.jobTTL.Store(-1)
		r.runRetention.Store(-1)
		r.logRetention.Store(-1)
		c.runs.Store(r)
	}
	return r
}

// End records one run that ended with result after d, and the exemplar when ctx
// carries a sampled span. A negative d counts as zero.
func (r *Runs) End(ctx context.Context, d time.Duration, result Result) {
	if r == nil {
		return
	}
	r.ended.addResult(result)
	record(ctx, r.c.m.inst.runDuration, d, r.c.options.result[result.index()])
}

// Active adds delta to the number of runs in flight.
func (r *Runs) Active(delta int) {
	if r != nil {
		r.active.Add(int64(delta))
	}
}

// JobMissing counts a Job that was gone before its result was read. It counts
// at every call, so call it where the loss is recorded, not at each reconcile
// that sees it. For package jobgc that is when Observation.Lost is true and
// nothing is recorded yet.
func (r *Runs) JobMissing() {
	if r != nil {
		r.missing.Add(1)
	}
}

// Retention exports the retention that is in effect: how long a finished Job, a
// finished run and its logs are kept. Zero means that they are kept forever
// and is exported as 0. A negative duration is unknown and not exported.
func (r *Runs) Retention(job, run, logs time.Duration) {
	if r != nil {
		r.jobTTL.Store(int64(job))
		r.runRetention.Store(int64(run))
		r.logRetention.Store(int64(logs))
	}
}

func (r *Runs) observe(o metric.Observer) {
	i := &r.c.m.inst
	options := &r.c.options
	r.ended.observe(o, i.runs)
	o.ObserveInt64(i.runActive, r.active.Load(), options.observe...)
	o.ObserveInt64(i.missingJobs, r.missing.Load(), options.observe...)
	kept := func(gauge metric.Float64ObservableGauge, d *atomic.Int64) {
		if n := d.Load(); n >= 0 {
			o.ObserveFloat64(gauge, time.Duration(n).Seconds(), options.observe...)
		}
	}
	kept(i.jobTTL, &r.jobTTL)
	kept(i.runRetention, &r.runRetention)
	kept(i.logRetention, &r.logRetention)
}
