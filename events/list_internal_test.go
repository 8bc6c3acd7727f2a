// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// After any additions and removals the timer in front is the earliest, and each
// entry knows whether it is in the list.
func TestTheEarliestTimerIsInFront(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var ts queue[*entry]
	var model []*entry
	for range 2000 {
		if len(model) == 0 || random.IntN(3) > 0 {
			e := &entry{at: instant(random.IntN(50))}
			ts.put(e)
			model = append(model, e)
		} else {
			i := random.IntN(len(model))
			ts.remove(model[i])
			assert.Zero(t, model[i].index)
			ts.remove(model[i]) // it is out already
			model = slices.Delete(model, i, i+1)
		}
		require.Len(t, ts, len(model))
		if len(model) > 0 {
			earliest := slices.MinFunc(model, func(a, b *entry) int { return int(a.at - b.at) })
			require.Equal(t, earliest.at, ts[0].at)
		}
		for i, e := range ts {
			require.Equal(t, i+1, int(e.index))
		}
	}
}

// A list is a deque whose entries leave it from any place, and it knows how
// many it has.
func TestAListIsADeque(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l list
	var model []*entry
	for range 2000 {
		switch e := new(entry); {
		case random.IntN(3) == 0:
			l.pushFront(e)
			model = slices.Insert(model, 0, e)
		case len(model) == 0 || random.IntN(2) == 0:
			l.pushBack(e)
			model = append(model, e)
		default:
			i := random.IntN(len(model))
			model[i].unlink()
			model[i].unlink() // it is on no list
			model = slices.Delete(model, i, i+1)
		}
		require.Equal(t, len(model), l.len)
		var forth, back []*entry
		for e := l.front; e != nil; e = e.next {
			forth = append(forth, e)
		}
		for e := l.back; e != nil; e = e.prev {
			back = append(back, e)
		}
		slices.Reverse(back)
		require.True(t, slices.Equal(model, forth))
		require.True(t, slices.Equal(model, back))
	}
}
