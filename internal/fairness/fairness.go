// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairness selects the objects of a sweep that may not touch all of
// them. Without it, objects for which a sweep can do nothing would block the
// others forever.
package fairness

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Turns remembers when each object was last selected. The zero Turns is ready
// to use, also concurrently, and must not be copied.
type Turns struct {
	mu   sync.Mutex
	turn int
	last map[types.UID]int // only of the objects that were due in the last call
}

// Next selects at most limit of the due objects. An object that was never
// selected comes first, then the one whose selection is the longest ago. Equal
// objects keep the order of due, which Next does not change.
func Next[T interface{ GetUID() types.UID }](t *Turns, due []T, limit int) []T {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := slices.Clone(due)
	slices.SortStableFunc(next, func(a, b T) int { return cmp.Compare(t.last[a.GetUID()], t.last[b.GetUID()]) })
	next = next[:min(len(next), limit)]
	t.turn++
	last := map[types.UID]int{}
	for _, o := range due {
		if turn, ok := t.last[o.GetUID()]; ok {
			last[o.GetUID()] = turn
		}
	}
	for _, o := range next {
		last[o.GetUID()] = t.turn
	}
	t.last = last
	return next
}
