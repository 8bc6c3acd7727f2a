// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// queues measure what counting the items of a work queue costs.
func queues(theirs vectors) ([]bench.Measure, error) {
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return nil, err
	}
	m, err := metrics.New(endpoint, metrics.Options{})
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: "ci", Name: "run-1"}
	limiter := workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]
	bare := through(clientGo, workqueue.NewTypedRateLimitingQueue(limiter()), key)
	all := []bench.Measure{
		hooks(m, theirs),
		{
			// A queue without a name has no metrics in client-go. The library's
			// queue counts for State anyway.
			Name:  "queue item, not exported",
			Ours:  through("", kube.NewQueue(nil, limiter()), key),
			Peers: []bench.Subject{bare},
			Gates: []bench.Gate{{Unit: bench.Nanos, Peer: clientGo, Limit: "<= 1.1x"}},
		},
		{
			// client-go's numbers are those without metrics, the other two with
			// controller-runtime's provider, which it has made the default of
			// the process.
			Name: "queue item, exported",
			Ours: through("", kube.NewQueue(m.Controller("exported"), limiter()), key),
			Peers: []bench.Subject{
				bare,
				through("client-go, exported", named("named", limiter()), key),
				through("controller-runtime priority queue", priorityqueue.New[types.NamespacedName]("priority"), key),
			},
			Gates: []bench.Gate{{Unit: bench.Nanos, Peer: clientGo, Limit: "<= 2.4x"}},
		},
	}
	for _, n := range []int{4, 100, 1000} {
		name := "queue item, " + strconv.Itoa(n) + " held"
		exported := holding(n, kube.NewQueue(m.Controller(name), limiter()))
		theirExported := holding(n, named(name, limiter()))
		plain := holding(n, kube.NewQueue(nil, limiter()))
		theirPlain := holding(n, workqueue.NewTypedRateLimitingQueue(limiter()))
		all = append(all, bench.Measure{
			// With metrics on both sides, and with none.
			Name:  name,
			Ours:  through("", exported, key),
			Peers: []bench.Subject{through("client-go, exported", theirExported, key)},
			Gates: []bench.Gate{{Unit: bench.Nanos, Peer: "client-go, exported", Limit: "<= 1.5x"}},
		}, bench.Measure{
			Name:  name + ", not exported",
			Ours:  through("", plain, key),
			Peers: []bench.Subject{through(clientGo, theirPlain, key)},
			Gates: []bench.Gate{{Unit: bench.Nanos, Peer: clientGo, Limit: "<= 1.5x"}},
		})
	}
	return all, nil
}

// named is a queue of client-go's with controller-runtime's metrics.
func named(
	name string,
	l workqueue.TypedRateLimiter[types.NamespacedName],
) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	config := workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: name}
	return workqueue.NewTypedRateLimitingQueueWithConfig(l, config)
}

// holding is a queue whose workers hold n items.
func holding(
	n int,
	q workqueue.TypedRateLimitingInterface[types.NamespacedName],
) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	for i := range n {
		q.Add(types.NamespacedName{Namespace: "held", Name: strconv.Itoa(i)})
		q.Get()
	}
	return q
}

// through puts an item through a queue: added, handed out, done.
func through[Q interface {
	Add(item types.NamespacedName)
	Get() (types.NamespacedName, bool)
	Done(item types.NamespacedName)
}](name string, q Q, key types.NamespacedName,
) bench.Subject {
	return times(name, func() {
		q.Add(key)
		item, _ := q.Get()
		q.Done(item)
	})
}

// hooks are the calls that a queue makes for each item: one more added, one
// more ready, one less.
func hooks(m *metrics.Metrics, theirs vectors) bench.Measure {
	p := kube.QueueProvider(m)
	added := p.NewAddsMetric("hooks")
	ready := p.NewDepthMetric("hooks")
	addsBy := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adds"}, []string{"name", "controller"})
	adds := addsBy.WithLabelValues("hooks", "hooks")
	depthBy := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "depth"},
		[]string{"name", "controller", "priority"})
	depth := depthBy.WithLabelValues("hooks", "hooks", "")
	byPriority := priorityDepth{
		depth:  theirs.depth,
		labels: []string{"hooks", "hooks"},
		seen:   sets.Set[int]{},
	}
	return bench.Measure{
		Name: "queue hooks of an item",
		Ours: times("", func() { added.Inc(); ready.Inc(); ready.Dec() }),
		Peers: []bench.Subject{
			times(ctrlRuntime, func() { adds.Inc(); byPriority.add(0, 1); byPriority.add(0, -1) }),
			times(children, func() { adds.Inc(); depth.Inc(); depth.Dec() }),
		},
		Gates: []bench.Gate{
			{Unit: bench.Allocs, Limit: "= 0"},
			{Unit: bench.Nanos, Peer: ctrlRuntime, Limit: "<= 0.15x"},
			{Unit: bench.Nanos, Peer: children, Limit: "<= 1.1x"},
		},
	}
}

// priorityDepth does what controller-runtime's depth by priority does for its
// default queue (depthWithPriorityMetric in its internal metrics, which cannot
// be imported), on the very vector.
type priorityDepth struct {
	depth  *prometheus.GaugeVec
	labels []string
	mu     sync.Mutex
	seen   sets.Set[int]
}

func (d *priorityDepth) add(priority int, delta float64) {
	d.mu.Lock()
	d.seen.Insert(priority)
	d.mu.Unlock()
	d.depth.WithLabelValues(append(d.labels, strconv.Itoa(priority))...).Add(delta)
}
