// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Condition is one label pair of [Metrics.ObserveConditions]: a condition's type and status, or any other pair with
// few values, such as {"Phase", "Running"}.
type Condition struct{ Type, Status string }

// maxObjects bounds the series of controller.objects, all kinds together.
const maxObjects = 1000

type objectSource struct {
	kind  string
	count func(context.Context) iter.Seq2[Condition, int64]
}

// objectKey is the identity of one series of controller.objects.
type objectKey struct {
	kind string
	Condition
}

// ObserveConditions calls count at each collection and exports how many objects of kind are in which condition. Count
// over the informer's cache; there are no series per object, by design. Pairs that are yielded twice add up. The first
// 1000 pairs that the set ever sees, all kinds together, keep their series; the rest is added to the pair "other", "other"
// of the kind "other" and counted in controller.label_overflows, as are values that are empty, too long or not UTF-8.
//
// The series end with stop, which may be called more than once. count must be quick, must be safe for concurrent use
// and must not create instruments; when it panics, what it yielded before is exported. A nil count observes nothing.
func (m *Metrics) ObserveConditions(kind string, count func(context.Context) iter.Seq2[Condition, int64]) (stop func()) {
	if m == nil || count == nil {
		return func() {}
	}
	s := &objectSource{kind: kind, count: count}
	m.objects.add(s)
	return func() { m.objects.remove(s) }
}

func (m *Metrics) observeObjects(ctx context.Context, o metric.Observer, fail func(error)) {
	sources := m.objects.all()
	if len(sources) == 0 {
		return
	}
	sums := map[objectKey]int64{}
	for _, s := range sources {
		guard("the count of objects", fail, func() {
			for condition, n := range s.count(ctx) {
				key := objectKey{s.kind, condition}
				if _, ok := sums[key]; !ok && (!key.usable() || !m.admit(key)) {
					m.overflows[overflowCondition].count.Add(1)
					key = objectKey{other, Condition{other, other}}
				}
				sums[key] += n
			}
		})
	}
	for key, n := range sums {
		o.ObserveInt64(m.inst.objects, n, observed(attribute.String("kind", key.kind),
			attribute.String("condition", key.Type), attribute.String("status", key.Status))...)
	}
}

// admit reports whether key is one of the first. It is kept for good: a bound for each collection alone would let the
// series of Prometheus grow with every one, and let one kind take the places of another.
func (m *Metrics) admit(key objectKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.admitted[key]; ok {
		return true
	}
	if len(m.admitted) >= maxObjects {
		return false
	}
	m.admitted[key] = struct{}{}
	return true
}

func (k objectKey) usable() bool { return usable(k.kind) && usable(k.Type) && usable(k.Status) }
