// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/exhaust"
)

// worldBudget limits a world and what happens on a path.
type worldBudget struct {
	controllers, truths         uint8
	crashes, faults, acts, ages uint8
	bare                        bool // without a phase, which would be a conflict
	crd                         crd
}

func (b worldBudget) String() string {
	out := fmt.Sprintf("%d controllers, %d truths, %d faults, %d crashes, %d acts, %d ages",
		b.controllers, b.truths, b.faults, b.crashes, b.acts, b.ages)
	if b.bare {
		out += ", no phase"
	}
	return out + [...]string{"", ", pruned", ", defaulted"}[b.crd]
}

func worldModel(left worldBudget) exhaust.Model[state, step] {
	start := state{versions: 1, late: lateWrite{by: -1}}
	start.history[0] = object{uid: 1, version: 1, generation: 1, truth: 4 - left.truths}
	start.count = left.controllers
	start.bare = left.bare
	start.crd = left.crd
	start.uids = 1
	start.crashes = left.crashes
	start.faults = left.faults
	start.acts = left.acts
	start.ages = left.ages
	known := &commits{known: map[committed]outcome{}, unkept: []string{""}}
	of := func(s state) world { return world{s, known} }
	return exhaust.Model[state, step]{
		Name:    "status",
		Budgets: left.String(),
		Start:   start,
		Next: func(s state, yield func(step, state)) {
			of(s).next(func(e step, w world) { yield(e, normalized(w.state)) })
		},
		Check: func(s state) string { return s.wrong.String() },
		Calm:  func(s state) state { return normalized(of(s).calm().state) },
		Right: func(s state) string { return of(s).right() },
		Mark: func(s state) string {
			if !s.wentOld {
				return ""
			}
			return [...]string{"", "a stale copy after a crash", "a stale copy after 5 minutes"}[s.forgot]
		},
		MaxStates: 40_000_000,
		MaxCalm:   60,
	}
}

// worldBudgets are about 600,000 states in the unit tests, 10 seconds of
// processor time. STATUS_EXHAUST=1 spends more: a controller may read each
// version that its cache has not passed, so that budgets multiply.
func worldBudgets() []worldBudget {
	small := []worldBudget{
		{controllers: 1, truths: 2, crashes: 1, bare: true},
		{controllers: 1, truths: 2, ages: 1, bare: true},
		{controllers: 2, truths: 1, acts: 1},
	}
	if hasRaceDetector {
		return small
	}
	some := slices.Concat(small, []worldBudget{
		{controllers: 1, truths: 3, faults: 1, crashes: 1, acts: 1, ages: 1},
		{controllers: 1, truths: 2, faults: 1, crashes: 1, acts: 1, ages: 1, crd: prunes},
		{controllers: 2, truths: 2, faults: 1},
		{controllers: 2, truths: 2, faults: 1, crd: prunes},
		{controllers: 2, truths: 2, faults: 1, crd: defaults},
		{controllers: 2, truths: 2, crashes: 1},
		{controllers: 2, truths: 2, ages: 1},
	})
	if os.Getenv("STATUS_EXHAUST") == "" {
		return some
	}
	return append(some,
		worldBudget{controllers: 1, truths: 3, faults: 2, crashes: 1, acts: 1, ages: 1},
		worldBudget{controllers: 1, truths: 3, faults: 1, crashes: 1, acts: 1, ages: 1, crd: prunes},
		worldBudget{controllers: 2, truths: 3},
		worldBudget{controllers: 2, truths: 2, acts: 1, crd: defaults},
		worldBudget{controllers: 2, truths: 2, faults: 1, crashes: 1},
		worldBudget{controllers: 2, truths: 2, faults: 1, ages: 1},
		worldBudget{controllers: 2, truths: 2, faults: 2},
		worldBudget{controllers: 2, truths: 1, faults: 1, acts: 1},
	)
}

// TestSearch_OfASmallWorld visits every state that the world can reach within
// the budgets. In each of them no rule is broken: no verdict of a newer
// reconcile is replaced or mixed with an older one, times never move, no stale
// copy is accepted, and no write changes only updatedAt. Without further faults
// the stored status is the result of the last reconcile. A Writer accepts a
// stale copy only after a crash or five minutes.
func TestSearch_OfASmallWorld(t *testing.T) {
	for _, left := range worldBudgets() {
		model := worldModel(left)
		t.Run(model.Budgets, func(t *testing.T) {
			t.Parallel()
			report, err := model.Search()
			t.Log(report, report.Marks)
			require.NoError(t, err)
			assert.True(t, report.Complete)
		})
	}
}
