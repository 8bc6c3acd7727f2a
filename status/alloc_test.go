// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package status_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// What the comments say of allocations. It is not measured under the race detector, which
// allocates by itself.

func TestObserve_AllocatesNothing(t *testing.T) {
	s := status.Stamp{ObservedGeneration: 3, StartedAt: at(0), FinishedAt: at(0)}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range []status.Facts{{}, running, done} {
			_, _ = s.Observe(f, 3, noon)
		}
	}))
}

func TestSetCondition_AllocatesNothing(t *testing.T) {
	conds := bigRun().Status.Conditions
	same, other := conds[4], conds[4]
	other.Message = "something else"
	assert.Zero(t, testing.AllocsPerRun(100, func() { status.SetCondition(&conds, same, noon) }), "unchanged")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		status.SetCondition(&conds, other, noon)
		status.SetCondition(&conds, same, noon)
	}), "changed")
}

// TestPatch_IsLinearInConditions compares allocations and bytes, which do not
// depend on the machine's speed.
func TestPatch_IsLinearInConditions(t *testing.T) {
	const few, factor = 250, 8
	for kind, object := range map[string]func(r *Run) status.Object{
		"Typed":        func(r *Run) status.Object { return r },
		"Unstructured": func(r *Run) status.Object { return asUnstructured(t, r) },
	} {
		cost := func(n int) (allocs, bytes float64) {
			changed := manyConditions(n)
			for i := range changed.Status.Conditions {
				changed.Status.Conditions[i].Message = "changed"
			}
			allocs, bytes = math.Inf(1), math.Inf(1)
			for range 5 { // the least, because a collection empties the pools of encoding/json
				before, after := object(manyConditions(n)), object(changed.DeepCopy())
				var start, end runtime.MemStats
				runtime.ReadMemStats(&start)
				patch, err := status.FieldNames{}.Patch(before, after, running, noon)
				runtime.ReadMemStats(&end)
				require.NoError(t, err)
				require.Equal(t, n, strings.Count(string(patch), `"changed"`))
				allocs, bytes = min(allocs, float64(end.Mallocs-start.Mallocs)), min(bytes, float64(end.TotalAlloc-start.TotalAlloc))
			}
			return allocs, bytes
		}
		allocs, bytes := cost(few)
		manyAllocs, manyBytes := cost(factor * few)
		assert.Less(t, manyAllocs, 1.25*factor*allocs, "%s: allocations", kind)
		assert.Less(t, manyBytes, 2*factor*bytes, "%s: bytes", kind)
		t.Logf("%s: %d conditions cost %v allocations and %v bytes, %d times as many cost %v and %v", kind, few, allocs, bytes, factor, manyAllocs, manyBytes)
	}
}
