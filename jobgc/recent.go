// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"sync"
	"time"
)

// remembered is how long a Guard remembers what a cache may not show yet.
const remembered = 10 * time.Second

// mostRemembered is how many entries a recent has at most.
const mostRemembered = 4096

// recent remembers values for a moment. It only saves requests: a Guard that
// forgets sends one more and comes to the same result.
type recent[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// note remembers a value. If there are too many, it forgets the others.
func (r *recent[K, V]) note(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for k, e := range r.entries {
		if len(r.entries) >= mostRemembered || now.After(e.until) {
			delete(r.entries, k)
		}
	}
	if r.entries == nil {
		r.entries = map[K]entry[V]{}
	}
	r.entries[key] = entry[V]{value, now.Add(remembered)}
}

// get returns the value of a key, if it is remembered.
func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[key] // without one, until is zero
	if time.Now().After(e.until) {
		return value, false
	}
	return e.value, true
}
