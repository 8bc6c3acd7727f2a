// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/metrics"
)

// QueueProvider is for the MetricsProvider of client-go's queue configs and of
// controller-runtime's priority queue. It exports the queue of one controller:
// the ready items, the adds, the retries, the wait, and the ages of the items
// that workers hold. With a nil c it records nothing.
//
//	provider, err := kube.QueueProvider(m.Controller("agentrun"))
//	queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
//		workqueue.TypedRateLimitingQueueConfig[string]{
//			Name: "agentrun", MetricsProvider: provider, // client-go reports nothing without a Name
//		})
//
// With controller-runtime:
//
//	options.NewQueue = func(
//		name string, limiter workqueue.TypedRateLimiter[ctrl.Request],
//	) workqueue.TypedRateLimitingInterface[ctrl.Request] {
//		return priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) {
//			o.RateLimiter = limiter
//			o.MetricProvider = provider
//		})
//	}
//
// The numbers have client-go's meaning: AddAfter is a retry, and the ages lag
// by up to half a second.
//
// A controller has one provider, and a provider has one queue at a time. A
// second provider for the controller returns an error, because the numbers of
// two clusters would mix: [metrics.Metrics.Scope] separates them. A queue that
// the program makes again with the same provider takes the place of the earlier
// one.
func QueueProvider(c *metrics.Controller) (workqueue.MetricsProvider, error) {
	p := &provider{c: c, queue: new(queue)}
	err := c.ObserveQueue(p.state)
	if err != nil {
		return nil, err
	}
	return p, nil
}

type provider struct {
	c *metrics.Controller

	mu    sync.Mutex
	queue *queue // the last one
}

// queue has the numbers of one queue that are states. client-go does not reset
// them when it shuts a queue down.
type queue struct {
	depth               atomic.Int64
	unfinished, longest atomic.Int64 // nanoseconds

	made [kinds]bool // guarded by provider.mu
}

// The kinds of metrics that client-go asks for, each once for a queue.
const (
	ready = iota
	unfinished
	longest
	kinds
)

// of returns the queue that a metric of that kind belongs to: a new queue if
// the kind was asked for before.
func (p *provider) of(kind int) *queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue.made[kind] {
		p.queue = new(queue)
	}
	p.queue.made[kind] = true
	return p.queue
}

func (p *provider) state() metrics.QueueState {
	p.mu.Lock()
	q := p.queue
	p.mu.Unlock()
	return metrics.QueueState{
		Depth:      max(0, q.depth.Load()),
		Unfinished: time.Duration(q.unfinished.Load()),
		Longest:    time.Duration(q.longest.Load()),
	}
}

func (p *provider) NewDepthMetric(string) workqueue.GaugeMetric {
	return depth{&p.of(ready).depth}
}

func (p *provider) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return seconds{&p.of(unfinished).unfinished}
}

func (p *provider) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return seconds{&p.of(longest).longest}
}

func (p *provider) NewAddsMetric(string) workqueue.CounterMetric { return count(p.c.QueueAdd) }

func (p *provider) NewRetriesMetric(string) workqueue.CounterMetric { return count(p.c.QueueRetry) }

func (p *provider) NewLatencyMetric(string) workqueue.HistogramMetric {
	return observe(p.c.QueueWait)
}

// NewWorkDurationMetric records nothing: how long a worker holds an item is
// controller.reconcile.duration.
func (p *provider) NewWorkDurationMetric(string) workqueue.HistogramMetric {
	return observe(func(time.Duration) {})
}

type depth struct{ n *atomic.Int64 }

func (d depth) Inc() { d.n.Add(1) }
func (d depth) Dec() { d.n.Add(-1) }

// seconds keeps an age as a duration, because client-go uses float seconds.
type seconds struct{ d *atomic.Int64 }

func (v seconds) Set(s float64) { v.d.Store(int64(duration(s))) }

type count func()

func (c count) Inc() { c() }

type observe func(time.Duration)

func (o observe) Observe(s float64) { o(duration(s)) }

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
