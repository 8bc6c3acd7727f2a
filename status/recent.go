// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"container/list"
	"time"
)

// recent is a map whose entries end after a lifetime. If it has more entries
// than its limit, it drops the oldest. It is not safe for concurrent use.
type recent[K comparable, V any] struct {
	lifetime time.Duration
	limit    int

	elements map[K]*list.Element // their values are of type *recentEntry[K, V]
	order    list.List           // the oldest put first
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
	put   time.Time
}

func newRecent[K comparable, V any](lifetime time.Duration, limit int) *recent[K, V] {
	return &recent[K, V]{lifetime: lifetime, limit: limit, elements: map[K]*list.Element{}}
}

// get returns the value of an entry that has not ended.
func (r *recent[K, V]) get(key K, now time.Time) (value V, ok bool) {
	e := r.find(key, now)
	if e == nil {
		return value, false
	}
	return e.value, true
}

// put adds an entry, or begins its lifetime again. It also drops ended entries.
func (r *recent[K, V]) put(key K, value V, now time.Time) {
	r.drop(key)
	r.elements[key] = r.order.PushBack(&recentEntry[K, V]{key: key, value: value, put: now})
	for {
		oldest := entryOf[K, V](r.order.Front())
		if r.order.Len() <= r.limit && !r.ended(oldest, now) {
			return
		}
		r.drop(oldest.key)
	}
}

func (r *recent[K, V]) drop(key K) {
	element := r.elements[key]
	if element == nil {
		return
	}
	r.order.Remove(element)
	delete(r.elements, key)
}

func (r *recent[K, V]) find(key K, now time.Time) *recentEntry[K, V] {
	element := r.elements[key]
	if element == nil {
		return nil
	}
	e := entryOf[K, V](element)
	if r.ended(e, now) {
		return nil
	}
	return e
}

// ended also takes an entry of the future for ended, after a clock that was
// wrong.
func (r *recent[K, V]) ended(e *recentEntry[K, V], now time.Time) bool {
	return now.Sub(e.put).Abs() >= r.lifetime
}

func entryOf[K comparable, V any](element *list.Element) *recentEntry[K, V] {
	return element.Value.(*recentEntry[K, V]) //nolint:forcetypeassert // put alone adds elements
}
