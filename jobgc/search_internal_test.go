// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/exhaust"
)

func (s settings) String() string {
	out := "TTL " + s.ttl
	for _, f := range []struct {
		set  bool
		name string
	}{{s.finalizer, "Finalizer"}, {s.deletes, "DeleteCancelled"}, {s.named, "Name"}, {!s.informer, "no informer"}} {
		if f.set {
			out += ", " + f.name
		}
	}
	return out
}

// modelOf is the search of a world.
func modelOf(set settings, left budget, most int) exhaust.Model[world] {
	return exhaust.Model[world]{
		Name:      set.String(),
		Budgets:   fmt.Sprintf("%d crashes, %d faults, %d acts of others, %d switches", left.crashes, left.faults, left.acts, left.switches),
		Start:     []world{newSim(set, left)},
		Next:      world.next,
		Check:     world.check,
		Calm:      world.calm,
		Right:     world.right,
		Mark:      world.mark,
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
	}
}

// budgets limit the crashes, faults and switches of replica of a path. With an
// act of others there are more states than a search visits in minutes: the
// random schedules have those.
func budgets() []budget {
	short := []budget{{crashes: 1, faults: 1}}
	if os.Getenv("JOBGC_EXHAUST") == "" {
		return short
	}
	return append(short, budget{switches: 2}, budget{crashes: 1, switches: 1}, budget{faults: 1, switches: 1})
}

// TestSearch_OfASmallWorld visits every state that two replicas, one owner and
// its Jobs can reach within the budgets. In each of them no rule is broken, and
// without further faults the run ends right. JOBGC_EXHAUST=1 spends more.
//
//req:shows J2 J3 J4
func TestSearch_OfASmallWorld(t *testing.T) {
	for _, set := range sets() {
		for _, left := range budgets() {
			m := modelOf(set, left, 5_000_000)
			t.Run(m.Name+": "+m.Budgets, func(t *testing.T) {
				t.Parallel()
				report, err := m.Search()
				t.Log(report, report.Marks)
				require.NoError(t, err)
			})
		}
	}
}
