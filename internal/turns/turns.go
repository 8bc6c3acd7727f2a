// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turns lets each object have its turn where one sweep may not touch them all: those on which nothing can be done
// would otherwise be in the way of the others for ever.
package turns

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Turns remembers who had which turn. The zero Turns is ready to use, also concurrently, and must not be copied.
type Turns struct {
	mu   sync.Mutex
	turn int
	last map[types.UID]int // of those that were due the last time, and of no others
}

// Next returns at most limit of those that are due, and counts that as their turn. Who has had none comes first, then whose
// turn is the longest ago; among equals the order is that of due, which is not changed.
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
