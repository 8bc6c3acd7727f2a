// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/exhaust"
)

func (s settings) String() string {
	out := "TTL " + s.ttl
	for _, f := range []struct {
		set  bool
		name string
	}{
		{s.finalizer, "Finalizer"},
		{s.deletes, "DeleteCancelled"},
		{s.named, "Name"},
		{!s.informer, "no informer"},
		{s.strips, "a transform"},
		{s.lacks, "a selector"},
		{s.denies, "a policy"},
		{s.unwritten, "no status"},
		{s.nowhere, "no namespace"},
		{s.barred, "another Job"},
		{s.undated, "no RecordedAt"},
		{s.suspended, "suspended"},
		{s.ends, "two writes at the end"},
		{s.longer, "a longer UnrecordedTTL"},
	} {
		if f.set {
			out += ", " + f.name
		}
	}
	return out
}

// modelOf is the search of a world.
func modelOf(set settings, left budget, most int) exhaust.Model[state, event] {
	rules := newRules(set)
	of := func(s state) world { return world{s, rules} }
	return exhaust.Model[state, event]{
		Name: set.String(),
		Budgets: fmt.Sprintf("%d crashes, %d faults, %d acts of others, %d switches, %d restores",
			left.crashes, left.faults, left.acts, left.switches, left.restores),
		Start:     newWorld(rules, left).state,
		Next:      func(s state, yield func(event, state)) { of(s).next(yield) },
		Check:     func(s state) string { return of(s).check() },
		Calm:      func(s state) state { return of(s).calm().state },
		Right:     func(s state) string { return of(s).right() },
		Mark:      func(s state) string { return of(s).mark() },
		MaxStates: most,
		MaxCalm:   200,
	}
}

// sets are the options of the searches: each value of each option, and most
// pairs of values.
func sets() []settings {
	return []settings{
		{ttl: "long", informer: true},
		{ttl: "none", informer: true, finalizer: true},
		{ttl: "long", informer: true, finalizer: true, deletes: true},
		{ttl: "short", informer: true},
		{ttl: "long", informer: true, named: true},
		{ttl: "none", informer: true, named: true, deletes: true},
		{ttl: "short", informer: true, named: true, finalizer: true},
		{ttl: "long"},
		{ttl: "long", informer: true, strips: true, finalizer: true},
		{ttl: "long", informer: true, nowhere: true, undated: true},
		{ttl: "long", informer: true, longer: true},
		{ttl: "long", informer: true, barred: true},
		{ttl: "none", informer: true, finalizer: true, suspended: true},
		{ttl: "long", informer: true, finalizer: true, ends: true},
		{ttl: "long", informer: true, lacks: true},
		{ttl: "short", informer: true, named: true, denies: true},
		{ttl: "long", informer: true, unwritten: true},
	}
}

// exhausts reports whether the searches spend what make exhaust may take.
func exhausts() bool { return os.Getenv("JOBGC_EXHAUST") != "" }

// budgets limit the crashes, faults, acts of others, switches of replica and
// restores of a path, with each set of options. A core visits about 100,000
// states in a second. Each further event on a path means about ten times as
// many. The random schedules go further, and do not visit everything.
func budgets() []budget {
	some := []budget{{crashes: 1, faults: 1}, {acts: 1}}
	if !exhausts() {
		return some
	}
	return append(some,
		budget{crashes: 2, faults: 2},
		budget{switches: 2},
		budget{crashes: 1, faults: 1, switches: 1},
		budget{crashes: 1, faults: 1, acts: 1},
		budget{acts: 1, switches: 1},
		budget{acts: 2},
		budget{acts: 1, restores: 1},
	)
}

// search is what one search may do.
type search struct {
	set  settings
	left budget
}

// allSearches are the searches, the small ones first. With the race detector
// there is one: no search has a second goroutine.
func allSearches() []search {
	if slowness > 1 {
		return []search{{settings{ttl: "long", informer: true}, budget{crashes: 1, faults: 1}}}
	}
	var out []search
	for _, left := range budgets() {
		for _, set := range sets() {
			out = append(out, search{set, left})
		}
	}
	for _, more := range someSearches() {
		if !slices.Contains(out, more) {
			out = append(out, more)
		}
	}
	return out
}

// someSearches spend more with one set of options.
func someSearches() []search {
	usual := settings{ttl: "long", informer: true}
	some := []search{
		{usual, budget{acts: 1, restores: 1}},
		{settings{ttl: "none", informer: true, finalizer: true}, budget{acts: 1, restores: 1}},
		{usual, budget{faults: 2}},
		{settings{ttl: "none", informer: true, named: true, deletes: true}, budget{faults: 2}},
		{settings{ttl: "none", informer: true, named: true, deletes: true}, budget{faults: 1, acts: 1}},
		{settings{ttl: "long", informer: true, nowhere: true, undated: true}, budget{faults: 1, acts: 1}},
		{settings{ttl: "long"}, budget{acts: 2}},
		{settings{ttl: "none", informer: true, suspended: true}, budget{faults: 1, acts: 1}},
	}
	if !exhausts() {
		return some
	}
	return append(some,
		search{usual, budget{crashes: 1, faults: 1, switches: 2}},
		search{usual, budget{acts: 1, switches: 2}},
		search{usual, budget{crashes: 1, faults: 1, acts: 1, switches: 1}},
	)
}

// TestSearch_OfASmallWorld visits every state that two replicas, one owner and
// its Jobs can reach within the budgets. In each of them no rule is broken, and
// without further faults the run ends right. Each way to run twice that the
// package comment names is reached. JOBGC_EXHAUST=1 spends more.
//
//req:shows J2 J3 J4
func TestSearch_OfASmallWorld(t *testing.T) {
	var mu sync.Mutex
	reached := gap(0)
	searched := 0
	t.Run("States", func(t *testing.T) {
		for _, one := range allSearches() {
			m := modelOf(one.set, one.left, 50_000_000)
			t.Run(m.Name+": "+m.Budgets, func(t *testing.T) {
				t.Parallel()
				report, err := m.Search()
				t.Log(report, report.Marks)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				searched++
				reached |= gapsOf(report.Marks)
			})
		}
	})
	if slowness == 1 && searched == len(allSearches()) {
		assert.Equal(t, stalled|unwritten|recreated|longerTTL, reached&^fromBackup, "the ways to run twice: %s", reached)
	}
}
