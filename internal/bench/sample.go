// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// turn is how long a subject runs in a round.
const turn = "10ms"

// numbers are those of one unit, by subject and round.
type numbers struct {
	Count

	of [][]float64
}

// subjects are the library and the peers.
func (m Measure) subjects() []Subject { return append([]Subject{m.Ours}, m.Peers...) }

// run runs the measure, and returns the numbers of each unit.
func (m Measure) run(rounds int) ([]numbers, error) {
	if m.Counts != nil {
		return m.alternate(m.Counts, max(m.Rounds, 1), func(s Subject) ([]float64, error) {
			runtime.GC()
			return s.Count()
		})
	}
	units := []Count{{Unit: Nanos}, {Unit: Allocs}, {Unit: Bytes}, {Unit: Requests}}
	if m.Ours.Requests == nil {
		units = units[:3]
	}
	return m.alternate(units, rounds, func(s Subject) ([]float64, error) {
		all, err := timed(s)
		return all[:len(units)], err
	})
}

// alternate measures one subject after the other, round by round. Each
// measurement returns the numbers of all units.
func (m Measure) alternate(
	units []Count, rounds int, turn func(Subject) ([]float64, error),
) (all []numbers, err error) {
	subjects := m.subjects()
	for _, unit := range units {
		all = append(all, numbers{unit, make([][]float64, len(subjects))})
	}
	for round := range rounds {
		for offset := range subjects {
			i := (round + offset) % len(subjects)
			values, err := turn(subjects[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", m.Name, subjects[i].Name, err)
			}
			for u, v := range values {
				all[u].of[i] = append(all[u].of[i], v)
			}
		}
	}
	return all, nil
}

// timed returns the CPU time of one job in nanoseconds, and its allocations,
// bytes and requests. Garbage collection is off: a collection costs up to half
// of a round, and would hit rounds at random. The bytes show what it would
// cost.
func timed(s Subject) (all [4]float64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	err = flag.Set("test.benchtime", turn)
	if err != nil {
		return all, err
	}
	var took time.Duration
	var asked int64
	result := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		b.ReportAllocs()
		before := s.requests()
		began := cpuTime()
		err = s.Do(b.N)
		took = cpuTime() - began
		asked = s.requests() - before
		if err != nil {
			b.FailNow()
		}
	})
	if err != nil {
		return all, err
	}
	n := float64(result.N)
	// Whole numbers, except the time: one allocation in a thousand jobs does
	// not belong to the job.
	allocs, bytes := result.AllocsPerOp(), result.AllocedBytesPerOp()
	return [4]float64{float64(took) / n, float64(allocs), float64(bytes), float64(asked) / n}, nil
}

func (s Subject) requests() int64 {
	if s.Requests == nil {
		return 0
	}
	return s.Requests()
}
