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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A list is one value: a schema that prunes a field of its elements makes each
// list another one. It is reported once.
func TestUnkept_ReportsAListOnce(t *testing.T) {
	u, now := newUnkept(), time.Unix(0, 0)
	o := &unstructured.Unstructured{}
	list := func(n int, more ...string) map[string]any {
		step := map[string]any{"n": n}
		for _, field := range more {
			step[field] = true
		}
		return map[string]any{"steps": []any{step}}
	}
	require.ErrorContains(t, u.learn(o, nil, list(0, "pruned"), list(0), now), "status.steps")
	for n := 1; n < 5; n++ {
		require.NoError(t, u.learn(o, list(n-1), list(n, "pruned"), list(n), now))
	}
	require.ErrorContains(t, u.learn(o, nil, map[string]any{"text": "a"}, map[string]any{}, now), "status.text", "another field")
	now = now.Add(rememberUnkept)
	require.ErrorContains(t, u.learn(o, list(5), list(6, "pruned"), list(6), now), "status.steps", "after it was forgotten")
}

// The memory is bounded: the oldest difference is forgotten first.
func TestUnkept_ForgetsAtItsLimit(t *testing.T) {
	u, now := newUnkept(), time.Unix(0, 0)
	sent, stored := map[string]any{"text": "a"}, map[string]any{}
	object := func(n int) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetUID(types.UID(fmt.Sprint(n)))
		return o
	}
	const objects = maxUnkept / 2 // a difference and a name each
	for n := range objects + 1 {
		require.Error(t, u.learn(object(n), nil, sent, stored, now), "each object reports what it lost")
		require.LessOrEqual(t, len(u.seen.elements), maxUnkept)
		require.Equal(t, len(u.seen.elements), u.seen.order.Len())
	}
	assert.True(t, u.differ(object(0), sent, stored, now), "the first one was forgotten")
	assert.False(t, u.differ(object(1), sent, stored, now))
	assert.False(t, u.differ(object(objects), sent, stored, now))
}

func BenchmarkUnkeptFull(b *testing.B) {
	now := time.Unix(0, 0)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		u := newUnkept()
		for n := range maxUnkept {
			u.seen.put(namedKey("object", fmt.Sprint(n)), struct{}{}, now)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(u)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/maxUnkept, "B/entry")
}
