// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// number reads a number from the environment.
func number(t *testing.T, name string, def uint64) uint64 {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return def
	}
	n, err := strconv.ParseUint(value, 10, 64)
	require.NoError(t, err, name)
	return n
}

// played plays the schedules of n seeds from first on, and returns the first
// seed that breaks a rule, with what it broke, and how many met the documented
// gap of short TTLs.
func played(first, n uint64, b bug) (seed uint64, wrong []string, gaps int64) {
	var next atomic.Uint64
	var results results
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n && !results.failed.Load(); i = next.Add(1) - 1 {
				results.play(first+i, b)
			}
		})
	}
	workers.Wait()
	return results.seed, results.wrong, results.gaps.Load()
}

// results are those of schedules that are played at the same time.
type results struct {
	failed atomic.Bool
	gaps   atomic.Int64

	mu    sync.Mutex
	seed  uint64
	wrong []string // of the lowest seed
}

func (r *results) play(seed uint64, b bug) {
	s := draw(seed, b)
	wrong := s.play()
	if s.released {
		r.gaps.Add(1)
	}
	if len(wrong) == 0 {
		return
	}
	r.failed.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong == nil || seed < r.seed {
		r.seed = seed
		r.wrong = wrong
	}
}

// TestTenThousandSchedules plays that many orders of the events of a run, two
// replicas of its controller and an API server. With the race detector it plays
// a tenth of them. JOBGC_SCHEDULES sets their number, JOBGC_SEED the first
// seed.
//
//req:shows J3 J4
func TestTenThousandSchedules(t *testing.T) {
	n := number(t, "JOBGC_SCHEDULES", 10_000/slowness)
	seed, wrong, gaps := played(number(t, "JOBGC_SEED", 1), n, noBug)
	if len(wrong) > 0 {
		again := draw(seed, noBug)
		again.traced = true
		again.play()
		t.Log(strings.Join(again.trace, "\n"))
	}
	require.Empty(t, wrong, "seed %d: JOBGC_SEED=%d JOBGC_SCHEDULES=1 go test -run TenThousandSchedules ./jobgc", seed, seed)
	t.Logf("%d schedules; %d ran a Job twice with a TTL below 90 seconds, which the documentation names", n, gaps)
}

// TestSchedules_FindBugs shows that the schedules find bugs. Each of these
// mistakes occurs in controllers.
func TestSchedules_FindBugs(t *testing.T) {
	for name, tc := range map[string]struct {
		bug   bug
		first uint64 // a seed near the one that finds it, because the race detector keeps 200 kB of each schedule
		want  string
	}{
		"ReleaseBeforeTheRecord": {releasesUnwritten, 1, "released before the record"},
		"CreationFromAStaleCopy": {createsFromCache, 8_001, "run twice"},
	} {
		t.Run(name, func(t *testing.T) {
			for first := tc.first; first <= 10_000; {
				seed, wrong, _ := played(first, 10_001-first, tc.bug)
				require.NotEmpty(t, wrong, "10,000 schedules do not find it")
				for _, w := range wrong {
					if len(w) >= len(tc.want) && w[:len(tc.want)] == tc.want {
						t.Logf("found by seed %d: %s", seed, w)
						return
					}
				}
				first = seed + 1
			}
			assert.Fail(t, "10,000 schedules find other mistakes only")
		})
	}
}
