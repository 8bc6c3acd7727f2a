// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Controller records for one controller. Get it from [Metrics.Controller]. Its
// methods are safe for concurrent use. A nil *Controller records nothing, so
// that a component can be used without metrics.
type Controller struct {
	m    *Metrics
	name string
	keys keys

	all     metric.MeasurementOption // the attributes of the series without a result
	results [resultCount]metric.MeasurementOption

	mu      sync.Mutex
	workers int          // 0: unknown
	queue   *queueSource // nil: none
	kept    []retention
}

// Controller returns the recorder of one controller, the same one for the same
// name. The counters of its reconciles exist at zero from now on, so that
// rate() sees the first error. On a nil Metrics it returns nil.
//
// The name is a label. Use a few names, not one for each object.
func (m *Metrics) Controller(name string) *Controller {
	if m == nil {
		return nil
	}
	m.set.mu.Lock()
	c, known := m.controllers[name]
	if !known {
		c = m.newController(name)
		m.controllers[name] = c
	}
	m.set.mu.Unlock()
	for r := range forgotten {
		m.set.reconciles.Add(background(), 0, c.results[r])
	}
	return c
}

func (m *Metrics) newController(name string) *Controller {
	c := &Controller{m: m, name: name, keys: newKeys()}
	c.all = m.attributes(label("controller", name))
	for r := range Result(resultCount) {
		c.results[r] = c.with(r.String())
	}
	return c
}

// with returns the attributes of a series with a result.
func (c *Controller) with(result string) metric.MeasurementOption {
	return c.m.attributes(label("controller", c.name), label("result", result))
}

// SetWorkers sets how many reconciles can run concurrently. Below 1 the number
// is unknown and not exported.
func (c *Controller) SetWorkers(n int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = max(0, n)
}

// Events returns the function that counts n Kubernetes Events by result, such
// as "emitted", "aggregated" or "dropped". These three exist at zero from now
// on. The function fits the field OnResult of events.Options.
func (c *Controller) Events() func(result string, n int64) {
	if c == nil {
		return func(string, int64) {}
	}
	count := func(result string, n int64) {
		c.m.set.events.Add(background(), n, c.with(result))
	}
	for _, result := range []string{"emitted", "aggregated", "dropped"} {
		count(result, 0)
	}
	return count
}

// StatusWrites returns the function that counts one commit of an object's
// status by result, and records its duration unless the result is "unchanged",
// which does not reach the API server. The results of package status exist at
// zero from now on. The function fits the field OnCommit of status.Writer. A
// negative duration counts as zero.
func (c *Controller) StatusWrites() func(result string, took time.Duration) {
	if c == nil {
		return func(string, time.Duration) {}
	}
	results := []string{
		"unchanged", "written", "gone",
		"superseded", "replaced", "field_conflict", "conflict", "error",
	}
	for _, result := range results {
		c.m.set.statusWrites.Add(background(), 0, c.with(result))
	}
	return func(result string, took time.Duration) {
		c.m.set.statusWrites.Add(background(), 1, c.with(result))
		if result != "unchanged" {
			record(background(), c.m.set.statusWriteDuration, took, c.all)
		}
	}
}

func (c *Controller) queueSource() *queueSource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue
}

func (c *Controller) observe(o metric.Observer) {
	s := c.m.set
	now := time.Now()
	running, failing := c.keys.count(now)
	o.ObserveInt64(s.reconcileActive, int64(running), c.all)
	for kind, f := range failing {
		o.ObserveInt64(s.failing, f.n, c.with(kind))
		o.ObserveFloat64(s.failingLongest, f.longest.Seconds(), c.with(kind))
	}
	c.mu.Lock()
	workers := c.workers
	kept := c.kept
	c.mu.Unlock()
	if workers > 0 {
		o.ObserveInt64(s.workerLimit, int64(workers), c.all)
	}
	for _, r := range kept {
		o.ObserveFloat64(s.retention, r.d.Seconds(),
			c.m.attributes(label("controller", c.name), attribute.String("of", r.of)))
	}
}

// record adds one duration to a histogram. A negative one counts as zero.
func record(ctx context.Context, h metric.Float64Histogram, d time.Duration, a metric.MeasurementOption) {
	h.Record(ctx, max(0, d).Seconds(), a)
}

// background is the context of measurements from hooks that pass no context.
func background() context.Context {
	//nolint:forbidigo // the caller has no context, and no call needs one
	return context.Background()
}
