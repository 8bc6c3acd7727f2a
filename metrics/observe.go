// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// observe is the one callback. It runs under the SDK's lock, so it takes none that is held while that one is waited for.
func (m *Metrics) observe(ctx context.Context, o metric.Observer) error {
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	for _, c := range m.controllers.all() {
		if !c.hidden.Load() {
			c.observe(o, fail)
		}
	}
	m.observeLeases(o)
	m.observeObjects(ctx, o, fail)
	for i := range m.overflows {
		o.ObserveInt64(m.inst.overflows, m.overflows[i].count.Load(), m.overflows[i].observe...)
	}
	return errors.Join(errs...)
}

func (c *Controller) observe(o metric.Observer, fail func(error)) {
	i := &c.m.inst
	for r := range resultCount {
		o.ObserveInt64(i.reconciles, c.reconciles[r].Load(), c.options.observeResult[r]...)
		// A run is not queued again, so these two only appear if somebody says so all the same.
		if n := c.runs[r].Load(); n > 0 || r != int(Requeue) && r != int(RequeueAfter) {
			o.ObserveInt64(i.runs, n, c.options.observeResult[r]...)
		}
	}
	o.ObserveInt64(i.reconcileActive, c.active.Load(), c.options.observe...)
	o.ObserveInt64(i.runActive, c.runsActive.Load(), c.options.observe...)
	o.ObserveInt64(i.missingJobs, c.missing.Load(), c.options.observe...)
	for f := range c.events {
		if n := c.events[f].Load(); n > 0 || f != fateOther {
			o.ObserveInt64(i.events, n, c.options.fate[f]...)
		}
	}
	for w := range c.writes {
		if n := c.writes[w].Load(); n > 0 || w != writeOther {
			o.ObserveInt64(i.statusWrites, n, c.options.write[w]...)
		}
	}
	if n := c.workers.Load(); n > 0 {
		o.ObserveInt64(i.workerLimit, n, c.options.observe...)
	}
	c.observeRetention(o, i.jobTTL, &c.jobTTL)
	c.observeRetention(o, i.runRetention, &c.runRetention)
	c.observeRetention(o, i.logRetention, &c.logRetention)
	c.observeQueues(o, fail)
}

func (c *Controller) observeRetention(o metric.Observer, gauge metric.Float64ObservableGauge, kept *atomic.Int64) {
	if d := kept.Load(); d >= 0 {
		o.ObserveFloat64(gauge, time.Duration(d).Seconds(), c.options.observe...)
	}
}

// guard keeps a panic in a caller's function from taking the whole collection down. The value of the panic may hold
// anything, so only the runtime's own errors are repeated.
func guard(what string, fail func(error), f func()) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case runtime.Error:
			fail(fmt.Errorf("metrics: %s: panic: %w", what, v))
		default:
			fail(fmt.Errorf("metrics: %s: panic with a %T", what, v))
		}
	}()
	f()
}
