// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
)

// set is what a collection goes through, in the order in which it came. The lock is held for a copy only: a collection
// runs under the SDK's lock, and whoever waits for that one must not hold this one.
type set[T comparable] struct {
	mu    sync.Mutex
	items []T
}

func (s *set[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, v)
}

func (s *set[T]) remove(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.items, v); i >= 0 {
		s.items = slices.Delete(s.items, i, i+1)
	}
}

func (s *set[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}
