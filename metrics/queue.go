// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"go.opentelemetry.io/otel/metric"
)

// QueueState is a snapshot of a queue. The zero value is an empty queue. A negative number or age is unknown and not
// exported, for queues that cannot tell.
type QueueState struct {
	// Depth is the number of items that are ready, Delayed of those that wait for their time (AddAfter or back-off)
	// and Running of those that workers hold; the last has no instrument, as controller.reconcile.active tells it.
	Depth, Delayed, Running int64
	// Adds and Retries count since the queue was made and never fall: items that became ready, and items handed back
	// after a failure.
	Adds, Retries int64
	// Oldest is how long the first ready item has been ready.
	Oldest time.Duration
	// Unfinished is the sum of the ages of the running items and Longest the greatest of them.
	Unfinished, Longest time.Duration
}

// ObserveQueue exports a queue by pull: state is called once per collection, and the queue's hot path pays nothing.
// The series end with stop, which calls state once more and may be called more than once. With several queues their
// counts add up and the greatest age is shown; what a stopped queue counted stays in the sum of those that come after it
// or are still there, so that counters never fall. state must be quick, must be safe for concurrent use and must not
// create instruments; when it panics, its queue is left out of that collection but for what it counted before, and all
// else is exported. A nil state observes nothing.
func (c *Controller) ObserveQueue(state func() QueueState) (stop func()) {
	if c == nil || state == nil {
		return func() {}
	}
	s := &queueSource{state: state, last: unknownQueue()}
	c.queues.add(s)
	return func() { c.queues.end(s) }
}

// QueueWait records how long an item was ready before a worker took it. A negative d counts as zero.
func (c *Controller) QueueWait(d time.Duration) {
	if c != nil {
		record(background(), c.m.inst.queueWait, d, c.options.record)
	}
}

// observeQueues sums the controller's queues, because two observations of one series add up for a counter but
// overwrite each other for a gauge.
func (c *Controller) observeQueues(o metric.Observer, fail func(error)) {
	live, sum := c.queues.all()
	if len(live) == 0 {
		return
	}
	for _, s := range live {
		sum = sum.plus(c.queues.read(s, fail))
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
}

func (s QueueState) plus(t QueueState) QueueState {
	return QueueState{
		Depth: add(s.Depth, t.Depth), Delayed: add(s.Delayed, t.Delayed), Running: add(s.Running, t.Running),
		Adds: add(s.Adds, t.Adds), Retries: add(s.Retries, t.Retries),
		Oldest:     max(s.Oldest, t.Oldest),
		Unfinished: add(s.Unfinished, t.Unfinished), Longest: max(s.Longest, t.Longest),
	}
}

// add sums what is known.
func add[N int64 | time.Duration](a, b N) N {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return a + b
}
