// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/types"
)

func keyNumber(w *writes, n int) writeKey {
	return w.keyOf(types.UID(fmt.Sprintf("0c7e9b1a-3f4d-4c55-9c1e-%012d", n)), []string{"Ready", "Stalled"})
}

// The memory is bounded by number and by time, and forgets what was written
// first.
func TestWrites_Forget(t *testing.T) {
	w, now := newWrites(), time.Unix(0, 0)
	for n := range maxWrites {
		w.answered(keyNumber(w, n), 0, uint64(n+1), handedCopy{}, now)
	}
	w.answered(keyNumber(w, 0), 0, 7, handedCopy{}, now) // written again
	w.answered(keyNumber(w, maxWrites), 0, 8, handedCopy{}, now)
	require.Len(t, w.last.elements, maxWrites)
	assert.EqualValues(t, 7, w.get(keyNumber(w, 0), now).newest)
	assert.Zero(t, w.get(keyNumber(w, 1), now), "the oldest one")
	assert.EqualValues(t, 3, w.get(keyNumber(w, 2), now).newest)

	now = now.Add(rememberWrite)
	assert.Zero(t, w.get(keyNumber(w, 0), now))
	w.answered(keyNumber(w, 0), 0, 9, handedCopy{}, now)
	assert.Len(t, w.last.elements, 1, "an ended entry costs no memory after the next write")
	assert.Equal(t, 1, w.last.order.Len())

	assert.Zero(t, w.get(keyNumber(w, 0), now.Add(-time.Hour)), "a clock that was wrong blocks no object for an hour")
}

// Answers may arrive in another order than the writes were done.
func TestWrites_KeepTheNewestVersion(t *testing.T) {
	w, now := newWrites(), time.Unix(0, 0)
	key := keyNumber(w, 0)
	w.answered(key, 0, 9, handedCopy{1, 1}, now)
	w.answered(key, 0, 8, handedCopy{2, 2}, now)
	assert.Equal(t, lastWrite{newest: 9, handed: handedCopy{1, 1}}, w.get(key, now))
	w.lost(key, 7, now)
	assert.False(t, w.get(key, now).pending(7), "a newer version is known: that write can no longer happen")
	w.lost(key, 9, now)
	assert.True(t, w.get(key, now).pending(9))
	assert.True(t, w.get(key, now).pending(8))
	assert.False(t, w.get(key, now).pending(10), "the copy has a newer version")
	w.answered(key, 8, 9, handedCopy{}, now)
	assert.True(t, w.get(key, now).pending(9), "an older write was answered")
	w.answered(key, 9, 9, handedCopy{}, now)
	assert.False(t, w.get(key, now).pending(9), "a fake leaves the version as it is")
}

func BenchmarkWrites(b *testing.B) {
	w, now := newWrites(), time.Unix(0, 0)
	key := keyNumber(w, 0)
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.get(w.keyOf(key.uid, []string{"Ready", "Stalled"}), now)
		}
	})
	b.Run("Answered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.answered(key, 0, 7, handedCopy{}, now)
		}
	})
	b.Run("Full", func(b *testing.B) {
		var before, after runtime.MemStats
		for b.Loop() {
			w = nil
			runtime.GC()
			runtime.ReadMemStats(&before)
			w = newWrites()
			for n := range maxWrites {
				w.answered(keyNumber(w, n), 0, 7, handedCopy{}, now)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/maxWrites, "B/entry")
		runtime.KeepAlive(w)
	})
}
