// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// maxCaches bounds the resources of controller.cache.age.
const maxCaches = 64

type cacheSource struct {
	resource string
	age      func() time.Duration
	call     isolate.Call[time.Duration]
	observe  []metric.ObserveOption
}

// askedCache is one call of an age.
type askedCache struct {
	source *cacheSource
	run    *isolate.Run[time.Duration]
}

// ObserveCache calls age at each collection and exports it as
// controller.cache.age: the time since the cache of a resource last got
// anything from the API server. A negative age is unknown and not exported. The
// Cache of package metrics/kube calls ObserveCache. Of two caches of one
// resource, the greater age is exported. Resources after the 64th, and names
// that are empty, too long or not UTF-8, are left out and counted in
// controller.label_overflows.
//
// The series ends with stop, which may be called more than once. An age that
// panics or hangs costs its own series. A nil age observes nothing.
func (m *Metrics) ObserveCache(resource string, age func() time.Duration) (stop func()) {
	if m == nil || age == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !usable(resource) || !m.knowsCache(resource) {
		m.overflows.add(labelResource, 1)
		return func() {}
	}
	s := &cacheSource{
		resource: resource,
		age:      age,
		observe:  observed(attribute.String("resource", resource)),
	}
	m.caches.add(s)
	return func() { m.caches.remove(s) }
}

// knowsCache reports whether a resource may have a series.
func (m *Metrics) knowsCache(resource string) bool {
	known := map[string]bool{}
	for _, s := range m.caches.all() {
		known[s.resource] = true
	}
	return known[resource] || len(known) < maxCaches
}

// askCaches asks all caches for their ages.
func (m *Metrics) askCaches() (all []askedCache) {
	for _, s := range m.caches.all() {
		run := s.call.Start(func() (time.Duration, error) { return s.age(), nil })
		all = append(all, askedCache{s, run})
	}
	return all
}

func (m *Metrics) observeCaches(
	ctx context.Context,
	o metric.Observer,
	all []askedCache,
	fail func(error),
) {
	oldest := map[string]time.Duration{}
	for _, a := range all {
		age, err := a.run.Wait(ctx)
		if err != nil {
			fail(fmt.Errorf("metrics: the age of the cache of %q %w", a.source.resource, err))
			continue
		}
		known, ok := oldest[a.source.resource]
		if age < 0 || ok && age <= known {
			continue
		}
		oldest[a.source.resource] = age
	}
	for _, a := range all {
		age, ok := oldest[a.source.resource]
		if !ok {
			continue
		}
		delete(oldest, a.source.resource)
		o.ObserveFloat64(m.inst.cacheAge, age.Seconds(), a.source.observe...)
	}
}
