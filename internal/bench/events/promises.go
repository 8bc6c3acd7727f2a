// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/internal/bench"
)

var eventsResource = schema.GroupResource{Group: newGroup, Resource: "events"}

// rounds is how often a short scenario runs, because the order of its
// goroutines varies.
const rounds = 9

// answering lets each request take a while and fail with err from the first to
// the last of the time since the start.
func answering(takes, from, to time.Duration, err error) func() answer {
	return func() answer {
		began := time.Now()
		return func(context.Context, string, string) error {
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

// refused is the answer of an API server that does not grant the new group.
func refused(_ context.Context, group, _ string) error {
	if group == newGroup {
		return forbidden
	}
	return nil
}

// hanging is the answer of an API server with a webhook of badNamespace that
// hangs and fails, if the caller waits for it.
func hanging(ctx context.Context, _, namespace string) error {
	if namespace != badNamespace {
		return nil
	}
	select {
	case <-time.After(10 * time.Second):
		return apierrors.NewInternalError(errors.New("failed calling webhook: connection refused"))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The scenarios, by their counts.
var (
	moving = scenario{
		name:   "an object that changes fails 10,000 times, 1 s apart",
		record: storm(1, 10_000, time.Second, true),
	}
	crowds = scenario{
		name:   "5,000 objects, each failing every 5 s for 10 min",
		record: storm(5000, 120, 5*time.Second, false),
	}
	crowd = scenario{
		name: "burst of 5,000, API takes 50 ms", record: burst(5000, 0), after: time.Hour,
		server: answering(50*time.Millisecond, 0, 0, nil),
	}
	faults = []scenario{
		{
			name: "30 s of 503 within 60 s, 594 events", record: burst(594, 101*time.Millisecond),
			after: time.Hour, server: answering(0, 15*time.Second, 45*time.Second, down),
		},
		{
			name: "process ends with 500 queued, API takes 5 ms", record: burst(500, 0),
			server: answering(5*time.Millisecond, 0, 0, nil),
		},
		{
			name: "events.k8s.io not granted, 50 events", record: burst(50, 0),
			after: time.Hour, server: func() answer { return refused },
		},
	}
	failing = scenario{
		name:   "100 objects, 100 of another namespace without an answer for 10 s",
		record: beside(100), after: time.Hour,
		server: func() answer { return hanging },
	}
	down      = apierrors.NewServiceUnavailable("overloaded")
	forbidden = apierrors.NewForbidden(eventsResource, "", nil)
)

// promises counts writes and losses in virtual time, with the default options.
func promises(t *testing.T) []bench.Measure {
	t.Helper()
	writes := func(o outcome) float64 { return float64(o.Writes) }
	lost := func(o outcome) float64 { return float64(o.Lost) }
	last := func(o outcome) float64 { return o.Last }
	out := []bench.Measure{
		measure(t, moving, number{"writes", "<= 25", writes}),
		// 20 a second for 600 s, after a burst of 100
		measure(t, crowds, number{"writes", "<= 12100", writes}),
	}
	out[1].Rounds = 1 // it takes ten seconds and has no racing writes
	for _, sc := range faults {
		out = append(out, measure(t, sc, number{"lost", "= 0", lost}))
	}
	return append(
		out,
		measure(t, failing, number{"s to the last", "<= 3", last}), // of the healthy objects
		// The delay of the last Event is that at 20 writes a second. A peer that
		// loses Events finishes sooner.
		measure(
			t, crowd,
			number{"lost", "= 0", lost},
			number{"requests at once", "<= 2", func(o outcome) float64 { return float64(o.Most) }},
			number{"s to the last", "", last},
		),
	)
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
