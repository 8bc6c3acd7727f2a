// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// ring remembers the last entries that were put into it. The zero ring, or one
// with a limit below 1, remembers nothing.
type ring[K comparable, V any] struct {
	limit int
	m     map[K]V
	keys  []K // in the order of putting, from next on
	next  int
}

func (r *ring[K, V]) get(k K) (V, bool) {
	v, ok := r.m[k]
	return v, ok
}

// oldest is the entry that the next put of a new key displaces, if the ring is
// full.
func (r *ring[K, V]) oldest() (v V, full bool) {
	if r.limit < 1 || len(r.keys) < r.limit {
		return v, false
	}
	return r.m[r.keys[r.next]], true
}

func (r *ring[K, V]) put(k K, v V) {
	if r.limit < 1 {
		return
	}
	if r.m == nil {
		r.m = map[K]V{}
	}
	if _, ok := r.m[k]; !ok {
		if len(r.keys) < r.limit {
			r.keys = append(r.keys, k)
		} else {
			delete(r.m, r.keys[r.next])
			r.keys[r.next] = k
			r.next = (r.next + 1) % r.limit
		}
	}
	r.m[k] = v
}
