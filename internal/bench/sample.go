// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// How long a subject runs in a round, and the highest number of jobs in it.
const (
	turn = 10 * time.Millisecond
	most = 1 << 20
)

// repeats is how often allocations are counted. The lowest number counts,
// because a goroutine of the runtime may add some.
const repeats = 3

// run runs the measure. It returns a sample for each unit, and the figures of a
// counted one.
func (m Measure) run(rounds int) ([]Sample, []Figure, error) {
	subjects := append([]Subject{m.Ours}, m.Peers...)
	if m.Counts != nil {
		return m.counted(subjects)
	}
	times := make([]int, len(subjects))
	for i, s := range subjects {
		n, err := calibrate(s)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", m.Name, s.Name, err)
		}
		times[i] = n
	}
	nanos := make([][]float64, len(subjects))
	for round := range rounds {
		for turn := range subjects {
			i := (round + turn) % len(subjects)
			ns, err := timed(subjects[i], times[i])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %s: %w", m.Name, subjects[i].Name, err)
			}
			nanos[i] = append(nanos[i], ns)
		}
	}
	samples, err := m.exact(subjects, times, nanos)
	return samples, nil, err
}

// exact adds the counts, allocations and requests, to the medians of the times
// and of their ratios.
func (m Measure) exact(subjects []Subject, times []int, nanos [][]float64) ([]Sample, error) {
	units := []string{Nanos, Allocs, Bytes}
	if m.Ours.Requests != nil {
		units = append(units, Requests)
	}
	out := make([]Sample, len(units))
	for u, unit := range units {
		out[u] = Sample{Name: m.Name, Unit: unit}
	}
	for i, s := range subjects {
		c, err := count(s, max(s.Least, min(times[i], 1000)))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.Name, s.Name, err)
		}
		for u, v := range []float64{median(nanos[i]), c.allocs, c.bytes, c.requests}[:len(out)] {
			if i == 0 {
				out[u].Ours = v
			} else {
				out[u].Peers = append(out[u].Peers, v)
			}
		}
	}
	for i := range m.Peers {
		ratios := make([]float64, len(nanos[0]))
		for round := range ratios {
			ratios[round] = nanos[0][round] / nanos[i+1][round]
		}
		out[0].Ratios = append(out[0].Ratios, median(ratios))
	}
	return out, nil
}

// counted runs a measure that is not timed.
func (m Measure) counted(subjects []Subject) ([]Sample, []Figure, error) {
	samples := make([]Sample, len(m.Counts))
	values := make([][][]float64, len(m.Counts)) // by count and subject
	for c := range values {
		values[c] = make([][]float64, len(subjects))
	}
	for range max(m.Rounds, 1) {
		for i, s := range subjects {
			runtime.GC()
			all, err := s.Count()
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %s: %w", m.Name, s.Name, err)
			}
			for c, v := range all {
				values[c][i] = append(values[c][i], v)
			}
		}
	}
	var figures []Figure
	for c, count := range m.Counts {
		name := m.Name + count.What
		var medians []float64
		for i, v := range values[c] {
			f := Figure{
				Measure: name, Unit: count.Unit, Subject: cmp.Or(subjects[i].Name, "ours"),
				Median: median(v), Least: slices.Min(v), Most: slices.Max(v),
			}
			figures = append(figures, f)
			medians = append(medians, f.Median)
		}
		samples[c] = Sample{
			Name: name, Unit: count.Unit, Limit: count.Limit,
			Ours: medians[0], Peers: medians[1:], Most: slices.Max(values[c][0]),
		}
	}
	return samples, figures, nil
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

// counts returns the exact counts of one job.
type counts struct{ allocs, bytes, requests float64 }

func count(s Subject, n int) (counts, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var least counts
	for pass := range repeats {
		var before, after runtime.MemStats
		var asked int64
		if s.Requests != nil {
			asked = s.Requests()
		}
		runtime.ReadMemStats(&before)
		if err := s.Do(n); err != nil {
			return least, err
		}
		runtime.ReadMemStats(&after)
		// Whole numbers, like testing.AllocsPerRun: one allocation in a
		// thousand runs does not belong to the job.
		c := counts{
			allocs: float64((after.Mallocs - before.Mallocs) / uint64(n)),
			bytes:  float64((after.TotalAlloc - before.TotalAlloc) / uint64(n)),
		}
		if s.Requests != nil {
			c.requests = float64(s.Requests()-asked) / float64(n)
		}
		if pass == 0 || c.allocs < least.allocs {
			least = c
		}
		least.bytes = min(least.bytes, c.bytes)
	}
	return least, nil
}

// Heap returns the size of the live heap.
func Heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection empties each sync.Pool
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
