// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQueue_HasTheFirstItemInFront: after any moves the first of a queue is the
// earliest, of the lowest class and the oldest.
func TestQueue_HasTheFirstItemInFront(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q, other queue[*object]
	var model []*object
	compare := func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.turn.at, b.turn.at), cmp.Compare(a.turn.class, b.turn.class), cmp.Compare(a.turn.since, b.turn.since))
	}
	for range 2000 {
		if len(model) == 0 || random.IntN(3) > 0 {
			o := new(object)
			other.enter(o)
			leave(o)
			o.turn = turn{at: instant(random.IntN(5)), class: class(random.IntN(3)), since: instant(random.IntN(50))}
			q.enter(o)
			model = append(model, o)
		} else {
			i := random.IntN(len(model))
			leave(model[i])
			assert.Nil(t, model[i].queued.queue)
			leave(model[i]) // it is out already
			model = slices.Delete(model, i, i+1)
		}
		require.Empty(t, other)
		require.Len(t, q, len(model))
		if len(model) > 0 {
			require.Zero(t, compare(slices.MinFunc(model, compare), q.first()))
		}
		for i, o := range q {
			require.Equal(t, i, o.queued.index)
			require.Same(t, &q, o.queued.queue)
		}
	}
}

// TestPool_ForgetsWhatLeavesIt: a pick returns only objects that are in the
// pool.
func TestPool_ForgetsWhatLeavesIt(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var p, other pool
	in := map[*object]bool{}
	for range 2000 {
		o := p.pick(random.Uint64())
		if o == nil || random.IntN(3) > 0 {
			o = new(object)
			o.moveTo(&other)
			o.moveTo(&p)
			in[o] = true
		} else {
			require.True(t, in[o])
			o.moveTo(nil)
			delete(in, o)
		}
		require.Empty(t, other)
		require.Len(t, p, len(in))
	}
}
