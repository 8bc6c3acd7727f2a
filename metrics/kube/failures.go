// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"time"

	"github.com/proompteng/controllerkit/metrics"
)

// failingLong is how long an item of QueueState.Failing has failed.
const failingLong = 15 * time.Minute

// fail notes the first failure of key since its last success.
func (q *Queue[T]) fail(key T) {
	if q.failing[key] != nil {
		return
	}
	i := q.unused()
	i.key = key
	i.since = q.now()
	q.failing[key] = i
	q.failed.push(i)
}

// succeed notes that key does not fail.
func (q *Queue[T]) succeed(key T) {
	i := q.failing[key]
	if i == nil {
		return
	}
	delete(q.failing, key)
	q.failed.remove(i)
	q.reuse(i)
}

// stateOfFailing adds the items that fail. The list begins with the item that
// has failed for longest.
func (q *Queue[T]) stateOfFailing(s *metrics.QueueState, now time.Duration) {
	if q.failed.first != nil {
		s.LongestFailing = now - q.failed.first.since
	}
	for i := q.failed.first; i != nil; i = i.next {
		if now-i.since < failingLong {
			return
		}
		s.Failing++
	}
}
