// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Attempt is one running reconcile. It is a small value: copy it freely, but
// end it once. The zero Attempt records nothing.
type Attempt struct {
	c    *Controller
	s    *slot
	turn uint64
	span trace.Span // of BeginSpan; nil without a tracer
	// start is since the epoch of the set: reading the monotonic clock alone is
	// half the price of time.Now.
	start time.Duration
}

// slot records whether a copy of an Attempt has already ended. An Attempt is
// live while it has the turn of the slot.
type slot struct{ turn atomic.Uint64 }

// slots recycles slots, so that an attempt costs no allocation.
type slots struct{ pool sync.Pool }

func (p *slots) get() *slot {
	if s, ok := p.pool.Get().(*slot); ok {
		return s
	}
	return new(slot)
}

// Begin counts a reconcile as running and reads the clock. It is meant for the
// first line of a reconcile:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, key string) (err error) {
//		var result metrics.Result
//		defer r.metrics.Begin().End(ctx, &result)
//
// An attempt that is never ended stays counted as running. With a tracer use
// [Controller.BeginSpan]. If you start a span yourself, start it first: the
// exemplar names the trace in the ctx of End. On a nil Controller Begin returns
// the zero Attempt.
func (c *Controller) Begin() Attempt {
	if c == nil {
		return Attempt{}
	}
	c.active.Add(1)
	s := c.m.slots.get()
	return Attempt{c: c, s: s, turn: s.turn.Load(), start: time.Since(c.m.epoch)}
}

// End records the duration and *result, and the exemplar when the attempt or
// ctx has a sampled span. It ends the span of [Controller.BeginSpan]. A
// canceled ctx changes nothing. If *result is still zero, or result is nil, End
// counts [Panic] while the goroutine panics, and [Unknown] otherwise. End does
// not recover, so the panic goes on. A second End, also of a copy and also
// concurrently, does nothing.
func (a Attempt) End(ctx context.Context, result *Result) {
	if a.s == nil || !a.s.turn.CompareAndSwap(a.turn, a.turn+1) {
		return
	}
	took := time.Since(a.c.m.epoch) - a.start
	a.c.m.slots.pool.Put(a.s)
	r := Unknown
	if result != nil {
		r = *result
	}
	if r == Unknown && unwinding() {
		r = Panic
	}
	if a.span != nil {
		ctx = trace.ContextWithSpan(ctx, a.span)
		defer endSpan(a.span, r)
	}
	a.c.active.Add(-1)
	a.c.reconciles.addResult(r)
	record(ctx, a.c.m.inst.reconcileDuration, took, a.c.options.result[r.index()])
}

// unwinding reports whether the runtime calls the deferred functions of a
// goroutine that panics or exits. It looks at the three innermost callers of
// End, because a deferred function may call End.
func unwinding() bool {
	var callers [3]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit" {
			return true
		}
		if !more {
			return false
		}
	}
}
