// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
)

// memory has the results of the rounds of one controller, so that each measure
// returns one number of each.
type memory[T any] struct {
	round  func() (T, error)
	rounds []T
}

func (m *memory[T]) of(round int) (T, error) {
	for len(m.rounds) <= round {
		one, err := m.round()
		if err != nil {
			return one, err
		}
		m.rounds = append(m.rounds, one)
	}
	return m.rounds[round], nil
}

// subjects returns the controllers as the subjects of a measure. The n-th call
// of one returns the number of its n-th round.
func subjects[T any](
	each [controllers]*memory[T], of func(T) float64,
) (ours bench.Subject, peers []bench.Subject) {
	var all [controllers]bench.Subject
	for i, c := range each {
		round := -1
		all[i] = bench.Subject{Name: names[i], Count: func() (float64, error) {
			round++
			one, err := c.of(round)
			if err != nil {
				return 0, err
			}
			return of(one), nil
		}}
	}
	all[0].Name = ""
	return all[0], all[1:]
}

// underLoad returns the measures of one load. The load runs in each round once
// for each controller, and each measure returns one of its numbers.
func (s *stand) underLoad(ctx context.Context, l load, rounds int) []bench.Measure {
	var accounts [controllers]*memory[*account]
	for i := range accounts {
		accounts[i] = &memory[*account]{round: func() (*account, error) {
			if err := s.up(ctx); err != nil {
				return nil, err
			}
			return s.account(ctx, s.kinds[i], l)
		}}
	}
	measure := func(what, unit string, of func(a *account) float64, gates ...bench.Gate) bench.Measure {
		m := bench.Measure{Name: l.String() + ": " + what, Unit: unit, Rounds: rounds, Gates: gates}
		m.Ours, m.Peers = subjects(accounts, of)
		return m
	}
	none := bench.Gate{Unit: "runs", Limit: "= 0"}
	told := []bench.Gate{none}
	if l.fault == theController || l.fault == theLeader {
		told = nil // Events that were queued in a killed process are lost
	}
	silent := func(a *account) float64 { return float64(a.silent) }
	all := []bench.Measure{
		measure("outcomes wrong", "runs", func(a *account) float64 { return float64(a.wrong) }, none),
		measure("outcomes missing", "runs", func(a *account) float64 { return float64(a.missing) }, none),
		measure("results lost", "runs", func(a *account) float64 { return float64(a.wrong + a.missing) }),
		measure("run more than once", "runs", func(a *account) float64 { return float64(a.doubled) }, none),
		measure("failures without an event", "runs", silent, told...),
		measure("events written", "events", func(a *account) float64 { return float64(a.events) }),
		measure("until all had finished", "s", func(a *account) float64 { return a.finished.Seconds() }),
		measure("CPU time", "s", func(a *account) float64 { return a.cpu.Seconds() }),
		measure("peak memory", "MiB", func(a *account) float64 { return a.peak }),
	}
	if l.fault == theLeader {
		takeover := func(a *account) float64 { return a.takeover.Seconds() }
		all = append(all, measure("takeover, until the other's first write", "s", takeover))
	}
	for _, verb := range []string{
		"all", "writes", "get", "list", "watch", "create", "patch", "update", "delete",
	} {
		count := func(a *account) float64 { return float64(a.verbs[verb]) }
		all = append(all, measure("requests, "+verb, bench.Requests, count))
	}
	requests := func(a *account) float64 { return float64(a.verbs["all"]) / float64(l.runs) }
	writes := func(a *account) float64 { return float64(a.verbs["writes"]) / float64(l.runs) }
	return append(all,
		measure("requests a run", bench.Requests, requests),
		measure("writes a run", bench.Requests, writes),
	)
}
