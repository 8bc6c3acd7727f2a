// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Controller records for one controller. Its methods are safe for concurrent
// use. Begin, QueueWait and SetWorkers do not allocate. Get it from
// [Metrics.Controller]. A nil *Controller records nothing, so that a component
// can be used without metrics.
type Controller struct {
	m       *Metrics
	id      attribute.KeyValue
	options controllerOptions
	hidden  atomic.Bool

	active     atomic.Int64
	reconciles *counts
	workers    atomic.Int64 // 0: unknown
	queues     queues

	// Instruments that the controller asks for; nil until then.
	runs           atomic.Pointer[Runs]
	events, writes atomic.Pointer[counts]
}

// controllerOptions are the attribute sets of one controller, built once.
type controllerOptions struct {
	observe []metric.ObserveOption
	record  []metric.RecordOption
	result  [resultCount][]metric.RecordOption
}

// Controller returns the recorder of one controller, the same one for the same
// name. Its counters exist at zero from now on, so that rate() sees the first
// error after the first scrape. A recorder that was closed is shown again with
// its earlier counts. On a nil Metrics it returns nil.
//
// Names beyond Options.MaxControllers share the recorder "other" and are
// counted in controller.label_overflows. The same holds for a name that is
// empty, longer than 253 bytes or not UTF-8.
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
		m.overflows.add(labelController, 1)
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
	c := &Controller{m: m, id: id, reconciles: newResults(id, Unknown)}
	c.options.observe = observed(id)
	c.options.record = recorded(id)
	for r := range Result(resultCount) {
		result := attribute.String("result", r.String())
		c.options.result[r] = recorded(id, result)
	}
	c.queues.ended = unknownQueue()
	m.controllers.add(c)
	return c
}

// Close removes the controller's counts and states, and its queues, from the
// next scrape. Its histograms stay until the provider shuts down. Measurements
// recorded after Close are kept for a later Controller of the same name. The
// recorder "other" is shared, so it stays.
func (c *Controller) Close() {
	if c == nil {
		return
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.hidden.Store(c != c.m.rest)
}

// SetWorkers sets how many reconciles can run concurrently. Below 1 the number
// is unknown and not exported.
func (c *Controller) SetWorkers(n int) {
	if c != nil {
		c.workers.Store(max(0, int64(n)))
	}
}
