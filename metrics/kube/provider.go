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
// controller-runtime's priority queue, where a [Queue] cannot be used. The name
// of a queue is its controller. With a nil m nothing is recorded.
//
//	queues := kube.QueueProvider(m)
//	options.NewQueue = func(
//		name string,
//		limiter workqueue.TypedRateLimiter[ctrl.Request],
//	) workqueue.TypedRateLimitingInterface[ctrl.Request] {
//		return priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) {
//			o.RateLimiter = limiter
//			o.MetricProvider = queues
//		})
//	}
//
// client-go does not report the items that wait for their time, the age of the
// oldest ready item, or the items that fail. These are not exported, and the
// alerts ControllerQueueBacklog and ControllerObjectFailing of package manifest
// never fire. The other numbers
// have client-go's meaning: AddAfter is a retry, and the ages of running items
// lag by up to half a second.
//
// Make one provider for m and give it to all queues. client-go does not report
// when a queue is shut down. A queue therefore stays exported after its
// shutdown. A second queue of the same name, from the same provider, continues
// its counts. Queues of one name from two providers add up, including items
// left in a queue that was shut down. Queues beyond Options.MaxControllers
// share one series: their counts add up, and the ages come from any one of
// them.
func QueueProvider(m *metrics.Metrics) workqueue.MetricsProvider {
	return &provider{m: m, queues: map[*metrics.Controller]*pushed{}}
}

type provider struct {
	m      *metrics.Metrics
	mu     sync.Mutex
	queues map[*metrics.Controller]*pushed // bounded, because the number of controllers is
}

// pushed is the state of one queue as client-go pushes it.
type pushed struct {
	name   string
	shared bool // by queues of other names
	record *metrics.Controller
	stop   func()
	made   [kinds]bool

	depth, adds, retries, unfinished, longest atomic.Int64
}

// The kinds of metrics that client-go asks for, each once for a queue.
const (
	depth = iota
	adds
	latency
	unfinished
	longest
	retries
	kinds
)

// queue returns the state that a metric of that kind belongs to. If the kind
// was asked for before, it is the first of a new queue and the old one has been
// shut down. client-go does not reset the numbers of a queue that was shut
// down.
func (p *provider) queue(name string, kind int) *pushed {
	c := p.m.Controller(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[c]
	if q != nil && q.name != name {
		q.shared = true
	}
	if q == nil || q.made[kind] && !q.shared {
		if q != nil {
			q.stop()
		}
		q = &pushed{name: name, record: c}
		q.stop = c.ObserveQueue(q.state)
		p.queues[c] = q
	}
	q.made[kind] = true
	return q
}

func (q *pushed) state() metrics.QueueState {
	return metrics.QueueState{
		Depth:          max(0, q.depth.Load()),
		Delayed:        -1,
		Running:        -1,
		Adds:           q.adds.Load(),
		Retries:        q.retries.Load(),
		Oldest:         -1,
		Unfinished:     time.Duration(q.unfinished.Load()),
		Longest:        time.Duration(q.longest.Load()),
		Failing:        -1,
		LongestFailing: -1,
	}
}

func (p *provider) NewDepthMetric(name string) workqueue.GaugeMetric {
	return number{&p.queue(name, depth).depth}
}

func (p *provider) NewAddsMetric(name string) workqueue.CounterMetric {
	return number{&p.queue(name, adds).adds}
}

func (p *provider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return number{&p.queue(name, retries).retries}
}

func (p *provider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return seconds{&p.queue(name, unfinished).unfinished}
}

func (p *provider) NewLongestRunningProcessorSecondsMetric(
	name string,
) workqueue.SettableGaugeMetric {
	return seconds{&p.queue(name, longest).longest}
}

func (p *provider) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return wait{p.queue(name, latency).record}
}

// NewWorkDurationMetric records nothing: how long a worker holds an item is
// controller.reconcile.duration.
func (p *provider) NewWorkDurationMetric(string) workqueue.HistogramMetric { return wait{} }

type number struct{ n *atomic.Int64 }

func (v number) Inc() { v.n.Add(1) }
func (v number) Dec() { v.n.Add(-1) }

// seconds keeps an age as a duration, because client-go uses float seconds.
type seconds struct{ d *atomic.Int64 }

func (v seconds) Set(s float64) { v.d.Store(int64(duration(s))) }

type wait struct{ c *metrics.Controller }

func (v wait) Observe(s float64) { v.c.QueueWait(duration(s)) }

func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
