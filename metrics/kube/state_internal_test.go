// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/metrics"
)

// A stopped timer may still fire.
func TestTimerThatComesTooLate(t *testing.T) {
	q := NewQueue[string](nil, nil)
	q.AddAfter("a", time.Hour)
	stale := q.delayed["a"]
	q.AddAfter("a", time.Minute)
	q.fire("a", stale)
	assert.Equal(t, metrics.QueueState{Delayed: 1}, q.State(), "its time was brought forward")
	stale = q.delayed["a"]
	q.ShutDown()
	q.fire("a", stale)
	assert.Equal(t, metrics.QueueState{}, q.State())
}

// After any removal a list keeps the order of the rest.
func TestListKeepsTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l list[int]
	var want []*item[int]
	for n := range 10_000 {
		if len(want) == 0 || random.IntN(2) == 0 && len(want) < 50 {
			i := &item[int]{key: n}
			l.push(i)
			want = append(want, i)
		} else {
			at := random.IntN(len(want))
			l.remove(want[at])
			want = slices.Delete(want, at, at+1)
		}
		var forward, backward []*item[int]
		for i := l.first; i != nil; i = i.next {
			forward = append(forward, i)
		}
		for i := l.last; i != nil; i = i.prev {
			backward = append(backward, i)
		}
		slices.Reverse(backward)
		require.Equal(t, len(want), l.n)
		require.True(t, slices.Equal(want, forward))
		require.True(t, slices.Equal(want, backward))
	}
}

// A queue keeps little memory after a burst, and no reference to a removed
// item.
func TestQueueGivesMemoryBack(t *testing.T) {
	q := NewQueue[*int](nil, nil)
	for i := range 10 * keep {
		q.Add(ptr.To(i))
	}
	for q.Len() > 0 {
		i, _ := q.Get()
		q.Done(i)
	}
	assert.Equal(t, keep, q.spare.n)
	assert.Empty(t, q.items)
	for i := q.spare.first; i != nil; i = i.next {
		require.Nil(t, i.key)
	}
}
