// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"go.opentelemetry.io/otel/metric"
)

// QueueState is a snapshot of a queue. The zero value is an empty queue.
type QueueState struct {
	// Depth is the number of items that are ready, Delayed of those that wait for their time (AddAfter or back-off)
	// and Running of those that workers hold.
	Depth, Delayed, Running int64
	// Adds and Retries count since the queue was made and never fall: items that became ready, and items handed back
	// after a failure.
	Adds, Retries int64
	// Oldest is how long the first ready item has been ready.
	Oldest time.Duration
	// Unfinished is the sum of the ages of the running items and Longest the greatest of them.
	Unfinished, Longest time.Duration
}

// queueSource is a pointer, so that two equal functions are two sources.
type queueSource struct{ state func() QueueState }

// ObserveQueue exports a queue by pull: state is called once per collection, and the queue's hot path pays nothing.
// The series end with stop, which may be called more than once. With several queues their counts add up and the
// greatest age is shown. state must be quick, must be safe for concurrent use and must not create instruments; when it
// panics, its queue is left out of that collection and all else is exported. A nil state observes nothing.
func (c *Controller) ObserveQueue(state func() QueueState) (stop func()) {
	if c == nil || state == nil {
		return func() {}
	}
	s := &queueSource{state: state}
	c.queues.add(s)
	return func() { c.queues.remove(s) }
}

// QueueWait records how long an item was ready before a worker took it. A negative d counts as zero.
func (c *Controller) QueueWait(d time.Duration) {
	if c != nil {
		c.m.inst.queueWait.Record(background(), max(0, d).Seconds(), c.options.record...)
	}
}

// observeQueues sums the controller's queues, because two observations of one series add up for a counter but
// overwrite each other for a gauge.
func (c *Controller) observeQueues(o metric.Observer, fail func(error)) {
	var sum QueueState
	seen := false
	for _, s := range c.queues.all() {
		guard("the state of a queue", fail, func() {
			sum = sum.plus(s.state())
			seen = true
		})
	}
	if !seen {
		return
	}
	i := &c.m.inst
	o.ObserveInt64(i.queueDepth, sum.Depth, c.options.observe...)
	o.ObserveInt64(i.queueDelayed, sum.Delayed, c.options.observe...)
	o.ObserveInt64(i.queueAdds, sum.Adds, c.options.observe...)
	o.ObserveInt64(i.queueRetries, sum.Retries, c.options.observe...)
	o.ObserveFloat64(i.queueOldest, sum.Oldest.Seconds(), c.options.observe...)
	o.ObserveFloat64(i.queueUnfinished, sum.Unfinished.Seconds(), c.options.observe...)
	o.ObserveFloat64(i.queueLongest, sum.Longest.Seconds(), c.options.observe...)
}

func (s QueueState) plus(t QueueState) QueueState {
	return QueueState{
		Depth: s.Depth + t.Depth, Delayed: s.Delayed + t.Delayed, Running: s.Running + t.Running,
		Adds: s.Adds + t.Adds, Retries: s.Retries + t.Retries,
		Oldest:     max(s.Oldest, t.Oldest),
		Unfinished: s.Unfinished + t.Unfinished, Longest: max(s.Longest, t.Longest),
	}
}
