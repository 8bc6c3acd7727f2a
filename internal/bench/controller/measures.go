// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/proompteng/controllerkit/internal/bench"
)

// underLoad returns the measures of one load. The load runs once for each
// controller, and each measure returns one of its numbers. underLoad also
// returns the CPU time.
func (s *stand) underLoad(ctx context.Context, l load) ([]bench.Measure, point) {
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
			Ours: bench.Subject{Count: count(0)}, Peers: []bench.Subject{{Name: baseline, Count: count(1)}},
		}
	}
	none := bench.Gate{Unit: "runs", Limit: "= 0"}
	told := []bench.Gate{none}
	if l.fault == theController || l.fault == theLeader {
		told = nil // Events that were queued in a killed process are lost
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
	return all, pointOf(l.runs, measure("", "", func(a *account) float64 { return a.cpu.Seconds() }))
}

// point is one number of both controllers for a number of runs.
type point struct {
	runs int
	of   [2]func() (float64, error)
}

func pointOf(runs int, m bench.Measure) point {
	return point{runs, [2]func() (float64, error){m.Ours.Count, m.Peers[0].Count}}
}

// growth returns what each further run adds to a number, from the first point
// to the last.
func growth(what, unit string, units float64, points []point) []bench.Measure {
	few, many := points[0], points[len(points)-1]
	if few.runs == many.runs {
		return nil
	}
	each := func(i int) func() (float64, error) {
		return func() (float64, error) {
			a, err1 := few.of[i]()
			b, err2 := many.of[i]()
			return (b - a) * units / float64(many.runs-few.runs), errors.Join(err1, err2)
		}
	}
	return []bench.Measure{{
		Name: fmt.Sprintf("%d to %d %s of each further one", few.runs, many.runs, what), Unit: unit,
		Ours: bench.Subject{Count: each(0)}, Peers: []bench.Subject{{Name: baseline, Count: each(1)}},
	}}
}
