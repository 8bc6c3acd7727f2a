// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/exhaust"
)

// worldBudget limits a world and what happens on a path.
type worldBudget struct {
	controllers, truths         uint8
	crashes, faults, acts, ages uint8
	bare                        bool // there is no phase, which would be a conflict
}

func worldModel(left worldBudget) exhaust.Model[state, step] {
	start := state{versions: 1, late: lateWrite{by: -1}}
	start.history[0] = object{uid: 1, version: 1, generation: 1, truth: 4 - left.truths}
	start.count = left.controllers
	start.bare = left.bare
	start.crashes = left.crashes
	start.faults = left.faults
	start.acts = left.acts
	start.ages = left.ages
	known := commits{}
	of := func(s state) world { return world{s, known} }
	return exhaust.Model[state, step]{
		Name: "status",
		Budgets: fmt.Sprintf("%d controllers, %d truths, %d crashes, %d faults, %d acts, %d ages, bare %t",
			left.controllers, left.truths, left.crashes, left.faults, left.acts, left.ages, left.bare),
		Start: start,
		Next:  func(s state, yield func(step, state)) { of(s).next(func(e step, w world) { yield(e, w.state) }) },
		Check: func(s state) string { return s.wrong.String() },
		Calm:  func(s state) state { return of(s).calm().state },
		Right: func(s state) string { return of(s).right() },
		Mark: func(s state) string {
			if !s.wentOld {
				return ""
			}
			return [...]string{"", "a stale copy after a crash", "a stale copy after 5 minutes"}[s.forgot]
		},
		MaxStates: 5_000_000,
		MaxCalm:   60,
	}
}

// worldBudgets are about 40,000 states, some seconds of processor time. Larger
// ones have millions: a controller may read each version that its cache has not
// passed.
func worldBudgets() []worldBudget {
	return []worldBudget{
		{controllers: 1, truths: 2, faults: 1},
		{controllers: 1, truths: 2, crashes: 1},
		{controllers: 1, truths: 2, crashes: 1, bare: true},
		{controllers: 1, truths: 2, ages: 1, bare: true},
		{controllers: 1, truths: 2, ages: 1},
		{controllers: 1, truths: 2, acts: 1},
		{controllers: 2, truths: 2},
	}
}

// TestSearch_OfASmallWorld visits every state that the world can reach within
// the budgets. In each of them no rule is broken: no verdict of a newer
// reconcile is replaced or mixed with an older one, times never move, no stale
// copy is accepted, and no write changes only updatedAt. Without further faults
// the stored status is that of the last reconcile. The two documented ways in
// which a stale copy is accepted are reached.
func TestSearch_OfASmallWorld(t *testing.T) {
	for _, left := range worldBudgets() {
		model := worldModel(left)
		t.Run(model.Budgets, func(t *testing.T) {
			t.Parallel()
			report, err := model.Search()
			t.Log(report, report.Marks)
			require.NoError(t, err)
			assert.True(t, report.Complete)
			if left.bare {
				assert.NotEmpty(t, report.Marks, "the documented way is reached")
			}
		})
	}
}
