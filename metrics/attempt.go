// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Attempt is one running reconcile. It is a small value: copy it freely, but end it once. The zero Attempt records
// nothing.
type Attempt struct {
	c     *Controller
	s     *slot
	turn  uint64
	start time.Duration // since the epoch of the set: reading the monotonic clock alone is half the price of time.Now
}

// slot lets a value know whether a copy of it has ended already: an Attempt is live while its turn is the slot's.
type slot struct{ turn atomic.Uint64 }

// slots recycles slots, so that an attempt costs no allocation.
type slots struct{ pool sync.Pool }

func (p *slots) get() *slot {
	if s, ok := p.pool.Get().(*slot); ok {
		return s
	}
	return new(slot)
}

// Begin counts a reconcile as running and reads the clock. It is meant for the first line of a reconcile:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, key string) (err error) {
//		var result metrics.Result
//		defer r.metrics.Begin().End(ctx, &result)
//
// Where there is a span, start it first: the ctx that End is given names the trace of the exemplar. An attempt that is
// never ended stays counted as running. On a nil Controller it returns the zero Attempt.
func (c *Controller) Begin() Attempt {
	if c == nil {
		return Attempt{}
	}
	c.active.Add(1)
	s := c.m.slots.get()
	return Attempt{c: c, s: s, turn: s.turn.Load(), start: time.Since(c.m.epoch)}
}

// End records the duration and *result, and the exemplar when ctx carries a sampled span; a canceled ctx changes
// nothing. A result that is still zero, or a nil pointer, counts as [Panic]; End does not recover, so the panic goes
// on. A second End, also of a copy and also concurrently, does nothing.
func (a Attempt) End(ctx context.Context, result *Result) {
	if a.c == nil || !a.s.turn.CompareAndSwap(a.turn, a.turn+1) {
		return
	}
	took := time.Since(a.c.m.epoch) - a.start
	a.c.m.slots.pool.Put(a.s)
	r := Panic
	if result != nil {
		r = *result
	}
	a.c.active.Add(-1)
	a.c.reconciles[r.index()].Add(1)
	record(ctx, a.c.m.inst.reconcileDuration, took, a.c.options.result[r.index()])
}
