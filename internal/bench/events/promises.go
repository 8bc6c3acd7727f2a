// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/internal/bench"
)

// rounds is how often a scenario runs, because the order of its goroutines
// varies.
const rounds = 9

// answering lets each request take a while and fail with err from the first to
// the last of the time since the start.
func answering(takes, from, to time.Duration, err error) func() answer {
	return func() answer {
		began := time.Now()
		return func() error {
			if takes > 0 {
				pass(takes)
			}
			if since := time.Since(began); since >= from && since < to {
				return err
			}
			return nil
		}
	}
}

// promises counts writes and losses in virtual time, with the default options.
func promises(t *testing.T) []bench.Measure {
	t.Helper()
	lost := number{"lost", "= 0", func(o outcome) float64 { return float64(o.Lost) }}
	down := apierrors.NewServiceUnavailable("overloaded")
	return []bench.Measure{
		measure(
			t, scenario{
				name:   "an object that changes fails 10,000 times, 1 s apart",
				record: storm(10_000, time.Second), server: answering(0, 0, 0, nil),
			},
			number{"writes", "<= 25", func(o outcome) float64 { return float64(o.Writes) }},
		),
		measure(t, scenario{
			name: "30 s of 503 within 60 s, 594 events", record: burst(594, 101*time.Millisecond),
			after: time.Hour, server: answering(0, 15*time.Second, 45*time.Second, down),
		}, lost),
		// The delay of the last Event is that at 20 writes a second. A peer that
		// loses Events finishes sooner.
		measure(
			t, scenario{
				name: "burst of 5,000, API takes 50 ms", record: burst(5000, 0), after: time.Hour,
				server: answering(50*time.Millisecond, 0, 0, nil),
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
