// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Controller records for one controller. Its methods are safe for concurrent use and do not allocate. A nil
// *Controller records nothing, so that a component can be used without metrics.
type Controller struct {
	m       *Metrics
	options controllerOptions
	hidden  atomic.Bool

	active     atomic.Int64
	reconciles [resultCount]atomic.Int64
	runsActive atomic.Int64
	runs       [resultCount]atomic.Int64
	missing    atomic.Int64
	events     [fateCount]atomic.Int64
	writes     [writeCount]atomic.Int64

	workers      atomic.Int64 // 0: unknown
	jobTTL       atomic.Int64 // nanoseconds; below 0: unknown
	runRetention atomic.Int64
	logRetention atomic.Int64

	queues queues
}

// controllerOptions are the attribute sets of one controller, built once.
type controllerOptions struct {
	observe       []metric.ObserveOption
	record        []metric.RecordOption
	observeResult [resultCount][]metric.ObserveOption
	result        [resultCount][]metric.RecordOption
	fate          [fateCount][]metric.ObserveOption
	write         [writeCount][]metric.ObserveOption
}

// Controller returns the recorder of one controller, the same one for the same name. From now on its counters exist at
// zero, so that rate() sees the first error after the first scrape; a recorder that was closed is shown again with the
// counts it had. Names beyond Options.MaxControllers, and names that are empty, longer than 253 bytes or not UTF-8, share
// the recorder "other" and are counted in controller.label_overflows. On a nil Metrics it returns nil.
func (m *Metrics) Controller(name string) *Controller {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.named[name]; ok {
		c.hidden.Store(false)
		return c
	}
	if name != other && len(m.named) < m.limit && usable(name) {
		c := m.newController(name)
		m.named[name] = c
		return c
	}
	if name != other {
		m.overflows[overflowController].count.Add(1)
	}
	if m.rest == nil {
		m.rest = m.newController(other)
	}
	return m.rest
}

func usable(value string) bool {
	return value != "" && len(value) <= maxValue && utf8.ValidString(value)
}

func (m *Metrics) newController(name string) *Controller {
	id := attribute.String("controller", name)
	c := &Controller{m: m}
	c.options.observe, c.options.record = observed(id), recorded(id)
	for r := range Result(resultCount) {
		result := attribute.String("result", r.String())
		c.options.observeResult[r], c.options.result[r] = observed(id, result), recorded(id, result)
	}
	for i, fate := range fates() {
		c.options.fate[i] = observed(id, attribute.String("fate", fate))
	}
	for i, result := range writes() {
		c.options.write[i] = observed(id, attribute.String("result", result))
	}
	c.jobTTL.Store(-1)
	c.runRetention.Store(-1)
	c.logRetention.Store(-1)
	c.queues.ended = unknownQueue()
	m.controllers.add(c)
	return c
}

// Close removes the controller's counts and states, its queues among them, from the next scrape; its histograms stay
// until the provider shuts down. What is recorded after Close is kept for a later Controller of the same name. The
// recorder "other" is shared, so it stays.
func (c *Controller) Close() {
	if c == nil {
		return
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.hidden.Store(c != c.m.rest)
}

// SetWorkers says how many reconciles can run at once. Below 1 it is unknown and not exported.
func (c *Controller) SetWorkers(n int) {
	if c != nil {
		c.workers.Store(max(0, int64(n)))
	}
}

// Run records one run (a job, a workflow) that ended with r after d, and the exemplar when ctx carries a sampled span.
// A negative d counts as zero.
func (c *Controller) Run(ctx context.Context, d time.Duration, r Result) {
	if c == nil {
		return
	}
	c.runs[r.index()].Add(1)
	record(ctx, c.m.inst.runDuration, d, c.options.result[r.index()])
}

// RunsActive adds delta to the number of runs in flight.
func (c *Controller) RunsActive(delta int) {
	if c != nil {
		c.runsActive.Add(int64(delta))
	}
}

// JobMissing counts a Job that was gone before its result was read: one at every call, so call it where the loss is recorded, once,
// and not at each reconcile that sees it. For package jobgc that is when Finding.Lost is true and nothing is recorded yet.
func (c *Controller) JobMissing() {
	if c != nil {
		c.missing.Add(1)
	}
}

// Retention exports the retention that is in effect: how long a finished Job, a finished run and its logs are kept. Zero means
// that they are kept for good and is exported as 0; a negative duration is unknown and not exported.
func (c *Controller) Retention(job, run, logs time.Duration) {
	if c != nil {
		c.jobTTL.Store(int64(job))
		c.runRetention.Store(int64(run))
		c.logRetention.Store(int64(logs))
	}
}
