// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// Condition is one label pair of [Metrics.ObserveConditions]: a condition's
// type and status, or any other pair with few values, such as {"Phase",
// "Running"}.
type Condition struct{ Type, Status string }

// maxObjects bounds the series of controller.objects, all kinds together.
const maxObjects = 1000

type objectSource struct {
	kind  string
	count func(context.Context) iter.Seq2[Condition, int64]
	call  isolate.Call[[]counted]
}

// counted is the result of one call of a count.
type counted struct {
	Condition
	n int64
}

// objectKey is the identity of one series of controller.objects.
type objectKey struct {
	kind string
	Condition
}

// ObserveConditions calls count at each collection and exports how many objects
// of kind are in each condition. Count over the informer's cache. By design
// there are no series per object. Pairs that count yields twice add up.
//
// The first 1000 pairs that the set ever sees, over all kinds, keep their
// series. The rest is added to the pair "other", "other" of the kind "other"
// and counted in controller.label_overflows. So are values that are empty, too
// long or not UTF-8.
//
// The series end with stop, which may be called more than once. count must be
// safe for concurrent use and must not create instruments. Its ctx ends with
// the collection: stop yielding then. When count panics, or does not return
// within two seconds, or half of the collection's time if that is less, its
// series are missing from that collection and the provider gets an error. While
// a call has not returned, count is not called again. A nil count observes
// nothing.
func (m *Metrics) ObserveConditions(
	kind string,
	count func(context.Context) iter.Seq2[Condition, int64],
) (stop func()) {
	if m == nil || count == nil {
		return func() {}
	}
	s := &objectSource{kind: kind, count: count}
	m.objects.add(s)
	return func() { m.objects.remove(s) }
}

// countObjects asks all sources for their counts.
func (m *Metrics) countObjects(
	ctx context.Context,
) (sources []*objectSource, runs []*isolate.Run[[]counted]) {
	sources = m.objects.all()
	for _, s := range sources {
		runs = append(runs, s.call.Start(func() (all []counted, err error) {
			for condition, n := range s.count(ctx) {
				all = append(all, counted{condition, n})
			}
			if ctx.Err() != nil {
				return nil, isolate.ErrLate // count may have stopped early, as it is asked to
			}
			return all, nil
		}))
	}
	return sources, runs
}

func (m *Metrics) observeObjects(
	ctx context.Context,
	o metric.Observer,
	sources []*objectSource,
	runs []*isolate.Run[[]counted],
	fail func(error),
) {
	sums := map[objectKey]int64{}
	for i, s := range sources {
		all, err := runs[i].Wait(ctx)
		if err != nil {
			fail(fmt.Errorf("metrics: the count of objects of kind %q %w", s.kind, err))
		}
		for _, c := range all {
			key := objectKey{s.kind, c.Condition}
			if _, ok := sums[key]; !ok && (!key.usable() || !m.admit(key)) {
				m.overflows.add(labelCondition, 1)
				key = objectKey{other, Condition{other, other}}
			}
			sums[key] += c.n
		}
	}
	for key, n := range sums {
		options := observed(
			attribute.String("kind", key.kind),
			attribute.String("condition", key.Type),
			attribute.String("status", key.Status))
		o.ObserveInt64(m.inst.objects, n, options...)
	}
}

// admit reports whether key is one of the first. The first keys are kept
// forever. With a bound for each collection, the number of series in Prometheus
// would grow with every collection, and one kind could take the places of
// another.
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
