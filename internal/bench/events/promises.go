// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// rounds is how often a scenario runs, because the order of its goroutines
// varies.
const rounds = 9

// promises counts writes and losses in virtual time, with the default options.
func promises(t *testing.T) []bench.Measure {
	t.Helper()
	lost := number{"lost", "= 0", func(o outcome) float64 { return float64(o.Lost) }}
	return []bench.Measure{
		measure(
			t, scenario{
				name:   "an object that changes fails 10,000 times, 1 s apart",
				record: storm(10_000, time.Second),
			},
			number{"writes", "<= 25", func(o outcome) float64 { return float64(o.Writes) }},
		),
		// The delay of the last Event is that at 20 writes a second. A peer that
		// loses Events finishes sooner.
		measure(
			t, scenario{
				name: "burst of 5,000, API takes 50 ms", takes: 50 * time.Millisecond,
				record: burst(5000, 0), after: time.Hour,
			},
			lost,
			number{"requests at once", "<= 2", func(o outcome) float64 { return float64(o.Most) }},
			number{"s to the last", "", func(o outcome) float64 { return o.Last }},
		),
	}
}

// number is one number of an outcome.
type number struct {
	unit, limit string
	of          func(outcome) float64
}

func measure(t *testing.T, sc scenario, numbers ...number) bench.Measure {
	t.Helper()
	count := func(w way) bench.Subject {
		return bench.Subject{Name: w.name, Count: func() (all []float64, err error) {
			var out outcome
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				out, err = sc.run(t.Context(), w)
			})
			for _, n := range numbers {
				all = append(all, n.of(out))
			}
			return all, err
		}}
	}
	m := bench.Measure{Name: sc.name, Rounds: rounds, Ours: count(recommended)}
	for _, n := range numbers {
		m.Counts = append(m.Counts, bench.Count{Unit: n.unit, Limit: n.limit})
	}
	for _, w := range peers {
		m.Peers = append(m.Peers, count(w))
	}
	return m
}
