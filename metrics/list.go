// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
	"sync/atomic"
)

// list is copied on each change, so that a collection reads it without a lock: a collection runs under the SDK's
// lock, and a second lock inside it could deadlock with a Close that waits for the first.
type list[T comparable] struct {
	mu    sync.Mutex
	items atomic.Pointer[[]T]
}

func (l *list[T]) all() []T {
	if p := l.items.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *list[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := append(slices.Clone(l.all()), v)
	l.items.Store(&next)
}

func (l *list[T]) remove(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(l.all()), func(have T) bool { return have == v })
	l.items.Store(&next)
}
