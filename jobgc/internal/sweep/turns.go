// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Turns remembers when each object was last selected. Without it, objects for
// which a sweep can do nothing would block the others forever. The zero Turns
// is ready to use, also concurrently, and must not be copied.
type Turns struct {
	mu   sync.Mutex
	turn int
	last map[types.UID]int // only of the objects that were due in the last call
}

// next selects at most limit of the due objects. An object that was never
// selected comes first, then the one whose selection is the longest ago. Equal
// objects keep the order of due, which Next does not change.
func next[T Object](t *Turns, due []T, limit int) []T {
	uids := make([]types.UID, len(due)) // read without the lock, because the objects are the caller's
	for i, o := range due {
		uids[i] = o.GetUID()
	}
	var chosen []T
	for _, i := range t.choose(uids, limit) {
		chosen = append(chosen, due[i])
	}
	return chosen
}

// choose returns the indexes of the objects to select.
func (t *Turns) choose(uids []types.UID, limit int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := make([]int, len(uids))
	for i := range uids {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.last[uids[a]], t.last[uids[b]]) })
	order = order[:min(len(order), limit)]
	t.turn++
	last := map[types.UID]int{}
	for _, uid := range uids {
		turn, known := t.last[uid]
		if known {
			last[uid] = turn
		}
	}
	for _, i := range order {
		last[uids[i]] = t.turn
	}
	t.last = last
	return order
}
