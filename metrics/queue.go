// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// QueueState is a snapshot of a queue. A negative number or age is unknown and
// not exported. The zero value is an empty queue.
type QueueState struct {
	// Depth is the number of items that are ready for a worker.
	Depth int64
	// Unfinished is the sum of the ages of the items that workers hold, and
	// Longest the greatest of them.
	Unfinished, Longest time.Duration
}

type queueSource struct {
	state func() QueueState
	call  isolate.Call[QueueState]
}

// ObserveQueue calls state at each collection and exports the controller's
// queue. The QueueProvider of package metrics/kube calls it. The counters of
// the queue exist at zero from now on. A controller has one queue: a second
// call returns an error. A nil state, or a nil Controller, observes nothing.
//
// state must be safe for concurrent use and must not create instruments. When
// it panics, or does not return within two seconds, or half of the collection's
// time if that is less, its series are missing from that collection and the
// provider gets an error. While a call has not returned, state is not called
// again.
func (c *Controller) ObserveQueue(state func() QueueState) error {
	if c == nil || state == nil {
		return nil
	}
	c.mu.Lock()
	second := c.queue != nil
	if !second {
		c.queue = &queueSource{state: state}
	}
	c.mu.Unlock()
	if second {
		return fmt.Errorf("metrics: already in use: the controller %q has a queue; make its "+
			"QueueProvider once, and give each cluster its own Metrics.Scope", c.name)
	}
	c.m.set.queueAdds.Add(background(), 0, c.all)
	c.m.set.queueRetries.Add(background(), 0, c.all)
	return nil
}

// QueueAdd counts an item that became ready.
func (c *Controller) QueueAdd() {
	if c != nil {
		c.m.set.queueAdds.Add(background(), 1, c.all)
	}
}

// QueueRetry counts an item that was added with a delay.
func (c *Controller) QueueRetry() {
	if c != nil {
		c.m.set.queueRetries.Add(background(), 1, c.all)
	}
}

// QueueWait records how long an item was ready before a worker took it. A
// negative d counts as zero.
func (c *Controller) QueueWait(d time.Duration) {
	if c != nil {
		record(background(), c.m.set.queueWait, d, c.all)
	}
}

func (c *Controller) observeQueue(o metric.Observer, q QueueState) {
	s := c.m.set
	if q.Depth >= 0 {
		o.ObserveInt64(s.queueDepth, q.Depth, c.all)
	}
	if q.Unfinished >= 0 {
		o.ObserveFloat64(s.queueUnfinished, q.Unfinished.Seconds(), c.all)
	}
	if q.Longest >= 0 {
		o.ObserveFloat64(s.queueLongest, q.Longest.Seconds(), c.all)
	}
}
