// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
)

// A timer that was stopped may be about to fire all the same.
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

func TestFifoKeepsTheOrderAndLittleMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var f fifo[*int]
	var want []int
	for i := range 100_000 {
		if len(want) == 0 || len(want) < 50 && random.IntN(2) == 0 {
			f.push(entry[*int]{new(i), time.Duration(i)})
			want = append(want, i)
			continue
		}
		require.Equal(t, time.Duration(want[0]), f.first().since)
		require.Equal(t, want[0], *f.pop().item)
		want = want[1:]
		require.Equal(t, len(want), f.len())
	}
	assert.LessOrEqual(t, cap(f.entries), 256, "a queue that never runs empty does not grow")
	live := 0
	for _, e := range f.entries[:cap(f.entries)] {
		if e.item != nil {
			live++
		}
	}
	assert.Equal(t, f.len(), live, "nothing that is gone is kept alive")

	for i := range 10 * keep {
		f.push(entry[*int]{new(i), 0})
	}
	for f.len() > 0 {
		f.pop()
	}
	assert.Nil(t, f.entries, "a burst is given back")
}
