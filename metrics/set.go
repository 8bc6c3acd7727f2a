// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
)

// set holds the parts of a collection, in order of arrival. The lock is held
// only for a copy: a collection runs under the SDK's lock, and a caller that
// waits for the SDK's lock must not hold this one.
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
	s.items = slices.DeleteFunc(s.items, func(have T) bool { return have == v })
}

func (s *set[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}
