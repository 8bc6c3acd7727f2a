// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"github.com/proompteng/controllerkit/internal/bench"
)

// underLoad are the measures of one load. It is put on each controller once; each measure tells one number of it.
func (s *stand) underLoad(ctx context.Context, l load) []bench.Measure {
	accounts := [2]func() (*account, error){}
	for i := range accounts {
		accounts[i] = sync.OnceValues(func() (*account, error) {
			if err := s.up(ctx); err != nil {
				return nil, err
			}
			return s.account(ctx, s.kinds[i], l)
		})
	}
	measure := func(what, unit string, of func(a *account) float64, gates ...bench.Gate) bench.Measure {
		count := func(i int) func() (float64, error) {
			return func() (float64, error) {
				a, err := accounts[i]()
				if err != nil {
					return 0, err
				}
				return of(a), nil
			}
		}
		return bench.Measure{
			Name: l.String() + ": " + what, Unit: unit, Gates: gates,
			Ours: bench.Subject{Count: count(0)}, Peers: []bench.Subject{{Name: usual, Count: count(1)}},
		}
	}
	none := bench.Gate{Unit: "runs", Limit: "= 0"}
	told := []bench.Gate{none}
	if l.fault == theController || l.fault == theLeader {
		told = nil // what a process had in mind when it died is told by nobody
	}
	all := []bench.Measure{
		measure("outcomes wrong", "runs", func(a *account) float64 { return float64(a.wrong) }, none),
		measure("outcomes missing", "runs", func(a *account) float64 { return float64(a.missing) }, none),
		measure("run more than once", "runs", func(a *account) float64 { return float64(a.doubled) }, none),
		measure("failures without an event", "runs", func(a *account) float64 { return float64(a.silent) }, told...),
		measure("events written", "events", func(a *account) float64 { return float64(a.events) }),
		measure("until all had finished", "s", func(a *account) float64 { return a.finished.Seconds() }),
		measure("CPU time", "s", func(a *account) float64 { return a.cpu.Seconds() }),
		measure("peak memory", "MiB", func(a *account) float64 { return a.peak }),
	}
	if l.fault == theLeader {
		all = append(all, measure("takeover, until the other's first write", "s", func(a *account) float64 { return a.takeover.Seconds() }))
	}
	for _, verb := range []string{"all", "writes", "get", "list", "watch", "create", "patch", "update", "delete"} {
		all = append(all, measure("requests, "+verb, bench.Requests, func(a *account) float64 { return float64(a.verbs[verb]) }))
	}
	return all
}
