// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// QueueState is a snapshot of a queue. The zero value is an empty queue. A
// negative number or age is unknown and not exported, for queues that do not
// count it.
type QueueState struct {
	// Depth is the number of ready items, Delayed of items that wait for their
	// time (AddAfter or back-off), and Running of items that workers hold.
	// Running has no instrument because controller.reconcile.active shows it.
	Depth, Delayed, Running int64
	// Adds and Retries count since the queue was made and never fall: items
	// that became ready, and items handed back after a failure.
	Adds, Retries int64
	// Oldest is how long the first ready item has been ready.
	Oldest time.Duration
	// Unfinished is the sum of the ages of the running items and Longest the
	// greatest of them.
	Unfinished, Longest time.Duration
	// Failing is the number of items that have failed for 15 minutes or longer,
	// without a success, and LongestFailing how long the item has failed that
	// has failed for longest.
	Failing        int64
	LongestFailing time.Duration
}

// ObserveQueue exports a queue by pull: each collection calls state once, and
// the queue's hot path pays nothing. The series end with stop. It calls state a
// last time, waits up to two seconds for it, and may be called again. With
// several queues, the counts and Unfinished add up. Of Oldest and Longest the
// greatest is shown. The counts of a stopped queue stay in the sum of the other
// queues, earlier and later, so that counters never fall.
//
// state must be safe for concurrent use and must not create instruments. When
// it panics, or does not return within two seconds, or half of the collection's
// time if that is less, the controller's queue series are missing from that
// collection and the provider gets an error. While a call has not returned,
// state is not called again. A nil state observes nothing.
func (c *Controller) ObserveQueue(state func() QueueState) (stop func()) {
	if c == nil || state == nil {
		return func() {}
	}
	s := &queueSource{state: state, last: unknownQueue()}
	c.queues.add(s)
	return func() { c.queues.end(s) }
}

// QueueWait records how long an item was ready before a worker took it. A
// negative d counts as zero.
func (c *Controller) QueueWait(d time.Duration) {
	if c != nil {
		record(background(), c.m.inst.queueWait, d, c.options.record)
	}
}

// observeQueues sums the controller's queues, because two observations of one
// series add up for a counter but overwrite each other for a gauge. A sum that
// lacks a queue would be wrong, so there is none.
func (c *Controller) observeQueues(
	ctx context.Context,
	o metric.Observer,
	a asked,
	fail func(error),
) {
	sum := a.ended
	whole := len(a.sources) > 0
	for n, s := range a.sources {
		state, err := c.queues.answer(ctx, s, a.runs[n])
		if err != nil {
			fail(fmt.Errorf("metrics: controller %q: %w", c.id.Value.AsString(), err))
			whole = false
		}
		sum = sum.plus(state)
	}
	if !whole {
		return
	}
	i := &c.m.inst
	number := func(what metric.Int64Observable, n int64) {
		if n >= 0 {
			o.ObserveInt64(what, n, c.options.observe...)
		}
	}
	age := func(what metric.Float64Observable, d time.Duration) {
		if d >= 0 {
			o.ObserveFloat64(what, d.Seconds(), c.options.observe...)
		}
	}
	number(i.queueDepth, sum.Depth)
	number(i.queueDelayed, sum.Delayed)
	number(i.queueAdds, sum.Adds)
	number(i.queueRetries, sum.Retries)
	age(i.queueOldest, sum.Oldest)
	age(i.queueUnfinished, sum.Unfinished)
	age(i.queueLongest, sum.Longest)
	number(i.queueFailing, sum.Failing)
	age(i.queueLongestFailing, sum.LongestFailing)
}

func (s QueueState) plus(t QueueState) QueueState {
	return QueueState{
		Depth:          add(s.Depth, t.Depth),
		Delayed:        add(s.Delayed, t.Delayed),
		Running:        add(s.Running, t.Running),
		Adds:           add(s.Adds, t.Adds),
		Retries:        add(s.Retries, t.Retries),
		Oldest:         max(s.Oldest, t.Oldest),
		Unfinished:     add(s.Unfinished, t.Unfinished),
		Longest:        max(s.Longest, t.Longest),
		Failing:        add(s.Failing, t.Failing),
		LongestFailing: max(s.LongestFailing, t.LongestFailing),
	}
}

// add sums what is known.
func add[N int64 | time.Duration](a, b N) N {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return a + b
}
