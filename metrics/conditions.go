// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"iter"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// Condition is one label pair of [Metrics.ObserveConditions]: a condition's
// type and status, or any other pair with few values, such as {"Phase",
// "Running"}.
type Condition struct{ Type, Status string }

type objectSource struct {
	kind  string
	count func(context.Context) iter.Seq2[Condition, int64]
	call  isolate.Call[map[Condition]int64]
}

// ObserveConditions calls count at each collection and exports how many objects
// of kind are in each condition. Count over the informer's cache. An object has
// no separate series. Pairs that count yields twice, or that two counts of a
// kind yield, add up.
//
// count must be safe for concurrent use and must not create instruments. Its
// ctx ends with the collection: stop yielding then. A count that panics or hangs
// costs its own series, as for [Controller.ObserveQueue]. A nil count observes
// nothing.
func (m *Metrics) ObserveConditions(
	kind string,
	count func(context.Context) iter.Seq2[Condition, int64],
) {
	if m == nil || count == nil {
		return
	}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	m.objects = append(m.objects, &objectSource{kind: kind, count: count})
}

// counts calls the function.
func (s *objectSource) counts(ctx context.Context) (map[Condition]int64, error) {
	all := map[Condition]int64{}
	for condition, n := range s.count(ctx) {
		all[condition] += n
	}
	if ctx.Err() != nil {
		return nil, isolate.ErrLate // count may have stopped early, as it is asked to
	}
	return all, nil
}
