// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"slices"
	"sync"
)

// set is what a collection goes through. The lock is held for a copy only: a collection runs under the SDK's lock, and
// whoever waits for that one must not hold this one.
type set[T comparable] struct {
	mu    sync.Mutex
	items map[T]struct{}
}

func (s *set[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[T]struct{}{}
	}
	s.items[v] = struct{}{}
}

func (s *set[T]) remove(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, v)
}

func (s *set[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.items))
}
