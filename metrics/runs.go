// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"
)

// Runs records the runs of one controller: the Jobs or workflows that it
// starts. Get it from [Controller.Runs]. A nil *Runs records nothing. The zero
// Runs cannot be used.
type Runs struct{ c *Controller }

// retention is one value of controller.retention.
type retention struct {
	of string
	d  time.Duration
}

// Runs returns the instruments for the runs of the controller. A controller
// that does not ask for them does not export them. Their counters exist at zero
// from now on, and the number of active runs from the first call of Active. On
// a nil Controller it returns nil.
func (c *Controller) Runs() *Runs {
	if c == nil {
		return nil
	}
	s := c.m.set
	for _, r := range []Result{Success, Error, TerminalError, Timeout, Canceled} {
		s.runs.Add(background(), 0, c.results[r])
	}
	s.missingJobs.Add(background(), 0, c.all)
	return &Runs{c}
}

// End counts one run that ended with result, and records how long it took from
// its start to its end, with an exemplar when ctx carries a sampled span. Count
// a run that never started too, such as one whose Job the API server refused: a
// negative took is counted and has no duration.
func (r *Runs) End(ctx context.Context, took time.Duration, result Result) {
	if r == nil {
		return
	}
	if result >= resultCount {
		result = Error
	}
	s := r.c.m.set
	s.runs.Add(ctx, 1, r.c.results[result])
	if took >= 0 {
		record(ctx, s.runDuration, took, r.c.results[result])
	}
}

// Active adds delta to the number of runs in flight.
func (r *Runs) Active(delta int) {
	if r != nil {
		r.c.m.set.runActive.Add(background(), int64(delta), r.c.all)
	}
}

// JobMissing counts a Job that was gone before its result was read. It counts
// at every call, so call it where the loss is recorded, not at each reconcile
// that sees it. For package jobgc that is when Observation.Lost is true and
// nothing is recorded yet.
func (r *Runs) JobMissing() {
	if r != nil {
		r.c.m.set.missingJobs.Add(background(), 1, r.c.all)
	}
}

// Retention exports the retention that is in effect: how long a finished Job, a
// finished run and its logs are kept. Zero means that they are kept forever
// and is exported as 0. A negative duration is unknown and not exported.
func (r *Runs) Retention(job, run, logs time.Duration) {
	if r == nil {
		return
	}
	var kept []retention
	for _, each := range []retention{{"job", job}, {"run", run}, {"log", logs}} {
		if each.d >= 0 {
			kept = append(kept, each)
		}
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.kept = kept
}
