// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/tracelog"
)

// attempt is one running reconcile.
type attempt struct {
	key   any
	start time.Time
	span  trace.Span // nil without a tracer
	ended bool       // guarded by keys.mu
}

// Begin begins to measure the reconcile of a key. Defer done with the results
// of the reconcile, and name these results:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
//		ctx, done := r.metrics.Begin(ctx, req)
//		defer done(&err, &res.RequeueAfter)
//
// done counts the reconcile and its duration by result: without an error
// requeue_after if after is positive, otherwise success; with one
// terminal_error, timeout, canceled or error; and panic, which goes on. An
// error is terminal if the first in its chain with a method Terminal() bool
// says so, and without the method if Options.IsTerminal does. Either pointer
// may be nil. A second call does nothing.
//
// A key that failed is in controller.failing, as terminal or as error, until it
// succeeds or asks for a requeue. A canceled reconcile changes nothing. A key
// that is not reconciled for an hour is dropped, unless its failure was
// terminal. Up to 10,000 keys of a controller are remembered of each kind.
// Reconcile deleted objects too, so that they succeed.
//
// The key is the work queue's, so one reconcile of it runs at a time. If done
// was not called before the key begins again, the result is "forgotten".
//
// With Options.Tracer Begin starts a span with the attribute controller. done
// adds the attribute result, and the status Error to a failure, but no text,
// which may hold a secret. The logger in the returned ctx and the exemplar have
// the IDs of the span, as by [tracelog.Bind].
func (c *Controller) Begin(
	ctx context.Context, key any,
) (_ context.Context, done func(err *error, after *time.Duration)) {
	if c == nil {
		return ctx, func(*error, *time.Duration) {}
	}
	s := c.m.set
	a := &attempt{key: mapKey(key), start: time.Now()}
	if !c.keys.start(a) {
		s.reconciles.Add(ctx, 1, c.results[forgotten])
	}
	if s.tracer != nil {
		ctx, a.span = s.tracer.Start(ctx, "reconcile "+c.name,
			trace.WithAttributes(label("controller", c.name)))
	}
	ctx = tracelog.Bind(ctx)
	return ctx, func(err *error, after *time.Duration) {
		var failure error
		if err != nil {
			failure = *err
		}
		var wait time.Duration
		if after != nil {
			wait = *after
		}
		result := panicked
		defer func() { c.end(ctx, a, result) }() // also if IsTerminal panics
		if !unwinding() {
			result = s.resultOf(failure, wait)
		}
	}
}

func (c *Controller) end(ctx context.Context, a *attempt, r Result) {
	now := time.Now()
	if !c.keys.finish(a, r, now) {
		return
	}
	s := c.m.set
	s.reconciles.Add(ctx, 1, c.results[r])
	record(ctx, s.reconcileDuration, now.Sub(a.start), c.results[r])
	if a.span == nil {
		return
	}
	a.span.SetAttributes(attribute.String("result", r.String()))
	if failed(r) {
		a.span.SetStatus(codes.Error, r.String())
	}
	a.span.End()
}

// unwinding reports whether the runtime calls the deferred functions of a
// goroutine that panics or exits. It looks at the three innermost callers of
// done, because a deferred function may call done.
func unwinding() bool {
	var callers [3]uintptr
	n := runtime.Callers(3, callers[:])
	for _, pc := range callers[:n] {
		name := runtime.FuncForPC(pc - 1).Name() // pc is where the caller goes on
		if name == "runtime.gopanic" || name == "runtime.Goexit" {
			return true
		}
	}
	return false
}
