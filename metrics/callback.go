// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// callersWait is how long a collection waits for the functions of callers, in
// total: at most half of the time that it has, or nothing would be left for
// what they do not hold up.
const callersWait = 2 * time.Second

// observe is the one callback. It runs under the SDK's lock, so it takes no
// lock that is held while waiting for the SDK's. Functions of callers run in
// goroutines, so that a function that hangs does not hold the SDK's lock.
func (m *Metrics) observe(ctx context.Context, o metric.Observer) error {
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	wait := callersWait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var controllers []*Controller
	for _, c := range m.controllers.all() {
		if !c.hidden.Load() {
			controllers = append(controllers, c)
		}
	}
	states := make([]asked, len(controllers))
	for i, c := range controllers {
		states[i] = c.queues.ask()
	}
	caches := m.askCaches()
	sources, counts := m.countObjects(ctx)
	for i, c := range controllers {
		c.observe(o)
		c.observeQueues(ctx, o, states[i], fail)
	}
	m.observeObjects(ctx, o, sources, counts, fail)
	m.observeLeases(o)
	m.observeCaches(ctx, o, caches, fail)
	m.codes.observe(o, m.inst.requests)
	m.overflows.observe(o, m.inst.overflows)
	return errors.Join(errs...)
}

func (c *Controller) observe(o metric.Observer) {
	i := &c.m.inst
	c.reconciles.observe(o, i.reconciles)
	o.ObserveInt64(i.reconcileActive, c.active.Load(), c.options.observe...)
	if n := c.workers.Load(); n > 0 {
		o.ObserveInt64(i.workerLimit, n, c.options.observe...)
	}
	if r := c.runs.Load(); r != nil {
		r.observe(o)
	}
	c.events.Load().observe(o, i.events)
	c.writes.Load().observe(o, i.statusWrites)
}
