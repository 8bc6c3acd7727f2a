// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// callersWait is how long a collection waits for the functions of callers, in
// total: at most half of the time that it has, so that the rest can be written.
const callersWait = 2 * time.Second

// observe is the callback. The functions of callers run in goroutines, all at
// the same time. A function that hangs costs one wait and its own series.
func (s *set) observe(ctx context.Context, o metric.Observer) error {
	wait := callersWait
	end, ok := ctx.Deadline()
	if ok {
		wait = min(wait, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	s.mu.Lock()
	scopes := slices.Collect(maps.Values(s.scopes))
	s.mu.Unlock()
	var all []*collection
	for _, m := range scopes {
		all = append(all, m.collect(ctx))
	}
	var errs []error
	for _, c := range all {
		c.observe(ctx, o)
		errs = append(errs, c.errs...)
	}
	return errors.Join(errs...)
}

// collection is what one scope has at the time of a collection, and the running
// calls of the functions of callers.
type collection struct {
	m           *Metrics
	controllers []*Controller
	leases      []Lease
	queues      []asked[*Controller, QueueState]
	caches      []asked[string, time.Duration]
	objects     []asked[string, map[Condition]int64]
	errs        []error
}

// asked is a running call of a function, and what the function is about.
type asked[K, V any] struct {
	of  K
	run *isolate.Run[V]
}

// collect calls the functions of callers.
func (m *Metrics) collect(ctx context.Context) *collection {
	c := &collection{m: m}
	m.set.mu.Lock()
	c.controllers = slices.Collect(maps.Values(m.controllers))
	for _, l := range m.leases {
		c.leases = append(c.leases, *l)
	}
	caches := slices.Clone(m.caches)
	objects := slices.Clone(m.objects)
	m.set.mu.Unlock()
	for _, controller := range c.controllers {
		q := controller.queueSource()
		if q != nil {
			run := q.call.Start(func() (QueueState, error) { return q.state(), nil })
			c.queues = append(c.queues, asked[*Controller, QueueState]{controller, run})
		}
	}
	for _, s := range caches {
		run := s.call.Start(func() (time.Duration, error) { return s.age(), nil })
		c.caches = append(c.caches, asked[string, time.Duration]{s.resource, run})
	}
	for _, s := range objects {
		run := s.call.Start(func() (map[Condition]int64, error) { return s.counts(ctx) })
		c.objects = append(c.objects, asked[string, map[Condition]int64]{s.kind, run})
	}
	return c
}

// observe exports the scope. Its errors are in c.errs.
func (c *collection) observe(ctx context.Context, o metric.Observer) {
	for _, controller := range c.controllers {
		controller.observe(o)
	}
	for _, l := range c.leases {
		var leading int64
		if l.leading {
			leading = 1
		}
		o.ObserveInt64(c.m.set.leader, leading, l.all)
	}
	c.observeQueues(ctx, o)
	c.observeCaches(ctx, o)
	c.observeObjects(ctx, o)
}

func (c *collection) observeQueues(ctx context.Context, o metric.Observer) {
	for _, q := range c.queues {
		state, err := q.run.Wait(ctx)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf(
				"metrics: the state of the queue of controller %q %w", q.of.name, err))
			continue
		}
		q.of.observeQueue(o, state)
	}
}

func (c *collection) observeCaches(ctx context.Context, o metric.Observer) {
	oldest := map[string]time.Duration{}
	for _, cache := range c.caches {
		age, err := cache.run.Wait(ctx)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("metrics: the age of the cache of %q %w", cache.of, err))
			continue
		}
		if age >= 0 {
			oldest[cache.of] = max(age, oldest[cache.of])
		}
	}
	for resource, age := range oldest {
		o.ObserveFloat64(c.m.set.cacheAge, age.Seconds(), c.m.attributes(label("resource", resource)))
	}
}

func (c *collection) observeObjects(ctx context.Context, o metric.Observer) {
	type series struct {
		kind string
		Condition
	}
	sums := map[series]int64{}
	for _, objects := range c.objects {
		counts, err := objects.run.Wait(ctx)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf(
				"metrics: the count of objects of kind %q %w", objects.of, err))
		}
		for condition, n := range counts {
			sums[series{objects.of, condition}] += n
		}
	}
	for s, n := range sums {
		o.ObserveInt64(c.m.set.objects, n, c.m.attributes(
			label("kind", s.kind), label("condition", s.Type), label("status", s.Status)))
	}
}
