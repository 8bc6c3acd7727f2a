// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

// The gates of allocation. They are not measured under the race detector, which allocates by itself.

func TestCommitAllocations(t *testing.T) {
	cases := map[string]struct {
		reason string
		after  *Run
		limit  float64
	}{
		"Unchanged":          {"An idle object must cost next to nothing.", bigRun(), 20},
		"Condition":          {"One condition of five.", flipped(), 150},
		"ConditionAndFields": {"And two fields.", stepped(), 150},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, ctx := bigRun(), t.Context()
			w, c := status.Writer[*Run]{}, echo[*Run]{stepped()}
			got := testing.AllocsPerRun(100, func() { _, _ = w.Commit(ctx, c.Patch, before, tc.after, running) })
			assert.LessOrEqual(t, got, tc.limit, tc.reason)
			t.Logf("typed: %v allocations", got)
		})
		t.Run(name+"/Unstructured", func(t *testing.T) {
			before, after, ctx := asUnstructured(t, bigRun()), asUnstructured(t, tc.after), t.Context()
			w, c := status.Writer[*unstructured.Unstructured]{}, echo[*unstructured.Unstructured]{asUnstructured(t, stepped())}
			got := testing.AllocsPerRun(100, func() { _, _ = w.Commit(ctx, c.Patch, before, after, running) })
			assert.LessOrEqual(t, got, tc.limit, tc.reason)
			t.Logf("unstructured: %v allocations", got)
		})
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	s := status.Stamp{ObservedGeneration: 3, StartedAt: at(0), FinishedAt: at(0)}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range []status.Facts{{}, running, done} {
			_, _ = s.Observe(f, 3, noon)
		}
	}))
}

func TestSetConditionAllocatesNothing(t *testing.T) {
	conds := bigRun().Status.Conditions
	same, other := conds[4], conds[4]
	other.Message = "something else"
	assert.Zero(t, testing.AllocsPerRun(100, func() { status.SetCondition(&conds, same, noon) }), "unchanged")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		status.SetCondition(&conds, other, noon)
		status.SetCondition(&conds, same, noon)
	}), "changed")
}

func TestSetConditionsAllocatesNothing(t *testing.T) {
	conds := bigRun().Status.Conditions
	w, group := status.Writer[*Run]{Owned: []string{"Condition0", "Condition1"}}, bigRun().Status.Conditions[:2]
	assert.Zero(t, testing.AllocsPerRun(100, func() { w.SetConditions(&conds, noon, group...) }))
}
