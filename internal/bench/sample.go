// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// How long a subject runs in a round, and the highest number of jobs in it.
const (
	turn = 10 * time.Millisecond
	most = 1 << 20
)

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
	times := map[string]int{}
	for _, s := range m.subjects() {
		n, err := calibrate(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.Name, s.Name, err)
		}
		times[s.Name] = n
	}
	nanos, err := m.alternate([]Count{{Unit: Nanos}}, rounds, func(s Subject) ([]float64, error) {
		ns, err := timed(s, times[s.Name])
		return []float64{ns}, err
	})
	if err != nil {
		return nil, err
	}
	units := []Count{{Unit: Allocs}, {Unit: Bytes}, {Unit: Requests}}
	if m.Ours.Requests == nil {
		units = units[:2]
	}
	exact, err := m.alternate(units, 1, func(s Subject) ([]float64, error) {
		all, err := exact(s, max(s.Least, min(times[s.Name], 1000)))
		return all[:len(units)], err
	})
	return append(nanos, exact...), err
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

// calibrate warms up the subject and finds how often it does the job in one
// round.
func calibrate(s Subject) (int, error) {
	least := max(s.Least, 1)
	if err := s.Do(least); err != nil {
		return 0, err
	}
	for n := least; ; n *= 4 {
		began := time.Now()
		if err := s.Do(n); err != nil {
			return 0, err
		}
		if took := time.Since(began); took >= turn/4 || n >= most {
			return max(least, min(int(float64(n)*float64(turn)/float64(took)), most)), nil
		}
	}
}

// timed returns the CPU time of one of n jobs, in nanoseconds. Garbage
// collection is off: a collection costs up to half of a round, and would hit
// rounds at random. The bytes show what it would cost.
func timed(s Subject, n int) (float64, error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	began := cpuTime()
	err := s.Do(n)
	took := cpuTime() - began
	return float64(took) / float64(n), err
}

// exact returns the allocations, bytes and requests of one job, the lowest of
// three passes, because a goroutine of the runtime may add some.
func exact(s Subject, n int) (least [3]float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for pass := range 3 {
		before := used(s)
		err := s.Do(n)
		if err != nil {
			return least, err
		}
		for i, after := range used(s) {
			// Whole numbers, like testing.AllocsPerRun: one allocation in a
			// thousand runs does not belong to the job.
			each := float64((after - before[i]) / uint64(n))
			if pass == 0 || each < least[i] {
				least[i] = each
			}
		}
	}
	return least, nil
}

// used returns the allocations, bytes and requests so far.
func used(s Subject) (all [3]uint64) {
	if s.Requests != nil {
		all[2] = uint64(s.Requests())
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	all[0], all[1] = m.Mallocs, m.TotalAlloc
	return all
}

// Heap returns the size of the live heap.
func Heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection empties each sync.Pool
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
