// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// number is one number of what a round returns.
type number[T any] struct {
	what, unit string
	of         func(T) float64
	limit      string
}

// measure measures the controllers, one after the other. The library is first.
func measure[T any](
	kinds []kind, name string, rounds int, numbers []number[T], round func(kind) (T, error),
) bench.Measure {
	m := bench.Measure{Name: name + ": ", Rounds: rounds}
	for _, n := range numbers {
		m.Counts = append(m.Counts, bench.Count{Unit: n.unit, What: n.what, Limit: n.limit})
	}
	for i, k := range kinds {
		subject := bench.Subject{Name: k.name, Count: func() (all []float64, err error) {
			one, err := round(k)
			if err != nil {
				return nil, err
			}
			for _, n := range numbers {
				all = append(all, n.of(one))
			}
			return all, nil
		}}
		if i == 0 {
			m.Ours = subject
		} else {
			m.Peers = append(m.Peers, subject)
		}
	}
	return m
}

// underLoad returns the measures of a load.
func (s *stand) underLoad(ctx context.Context, l load, rounds int) bench.Measure {
	const none = "= 0"
	failed := 0.0
	for i := range l.runs {
		if play.Truth(l.story(i)) == v1alpha1.Failed {
			failed++
		}
	}
	missed := none
	if l.fault == theController || l.fault == theLeader {
		missed = "" // Events that were queued in a killed process are lost
	}
	all := []number[*account]{
		{"outcomes wrong", "runs", func(a *account) float64 { return float64(a.wrong) }, none},
		{"outcomes missing", "runs", func(a *account) float64 { return float64(a.missing) }, none},
		{"results lost", "runs", func(a *account) float64 { return float64(a.wrong + a.missing) }, ""},
		{"run more than once", "runs", func(a *account) float64 { return float64(a.doubled) }, none},
		{"failed", "runs", func(*account) float64 { return failed }, ""},
		{"failures without an event", "runs", func(a *account) float64 { return float64(a.silent) }, missed},
		{"until all had finished", "s", func(a *account) float64 { return a.finished.Seconds() }, ""},
		{"CPU time", "s", func(a *account) float64 { return a.cpu.Seconds() }, ""},
		{"peak memory", "MiB", func(a *account) float64 { return a.peak }, ""},
	}
	if l.fault == theLeader {
		takeover := func(a *account) float64 { return a.takeover.Seconds() }
		all = append(all, number[*account]{"takeover, until the other's first write", "s", takeover, ""})
	}
	all = append(all,
		number[*account]{"requests a run", bench.Requests, func(a *account) float64 {
			return float64(a.requests) / float64(l.runs)
		}, ""},
		number[*account]{"writes a run", bench.Requests, func(a *account) float64 {
			return float64(a.writes) / float64(l.runs)
		}, ""})
	return measure(s.kindsOf(l), l.String(), rounds, all, func(k kind) (*account, error) {
		return s.account(ctx, k, l)
	})
}
