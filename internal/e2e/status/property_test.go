// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// seedVariable repeats the writers' decisions of an earlier run. Their timing
// still depends on the machine.
const seedVariable = "STATUS_E2E_SEED"

// TestContractUnderEightWriters runs eight controllers, each with its own
// condition, on 1,000 objects concurrently, while users change, delete and
// recreate the objects. Half the controllers are typed and half are not. Their
// caches are late, they restart with older caches, other clients write between
// their reads and writes, and answers get lost. A watch sees every version.
func TestContractUnderEightWriters(t *testing.T) {
	t.Parallel()
	const writers, objects = 8, 1000
	seed, err := strconv.Atoi(cmp.Or(os.Getenv(seedVariable), fmt.Sprint(time.Now().Nanosecond())))
	require.NoError(t, err, seedVariable)
	t.Logf("%s=%d", seedVariable, seed)

	s := newStage(t)
	l := keepLedger(t, s)
	names := make([]string, objects)
	for i := range names {
		names[i] = fmt.Sprintf("probe-%04d", i)
	}
	crew := make([]*worker, writers)
	for i := range crew {
		crew[i] = newWorker(t, s, l, i, uint64(seed))
	}

	started := time.Now()
	each(crew, func(i int, w *worker) {
		for k := i; k < len(names); k += len(crew) {
			w.createObject(names[k])
		}
	})
	suite.Eventually(t, "the watch sees the objects", func(context.Context) bool { return len(l.snapshot()) == objects })
	created := time.Since(started)
	each(crew, func(_ int, w *worker) { w.visit(names) })
	took := time.Since(started)

	states, versions := l.close(s)
	counts := map[string]int{}
	for _, w := range crew {
		for uid, n := range w.said {
			if state := states[uid]; state == nil || count(condition(state, w.own)) != n {
				t.Errorf("Commit reported to %s that %d is stored on %s, which finally is %+v", w.own, n, uid, state)
			}
		}
		for what, n := range w.counts {
			counts[what] += n
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-12s %6d", what, counts[what])
	}
	t.Logf("%d objects, %d versions seen, created in %.1f s, done in %.1f s", len(states), versions, created.Seconds(), took.Seconds())
	for _, what := range []string{
		"written", "merged", "unchanged", "superseded", "replaced", "gone", "field_conflict", "conflict", "error",
		"respecs", "recreations", "restarts", "conflicts injected", "replies lost",
	} {
		assert.NotZero(t, counts[what], "%s: the test did not get there", what)
	}
}

// each runs f for all workers concurrently.
func each(crew []*worker, f func(i int, w *worker)) {
	var wg sync.WaitGroup
	for i, w := range crew {
		wg.Go(func() { f(i, w) })
	}
	wg.Wait()
}

// inWindows orders the names so that all workers work on the same few objects
// at a time, each in a different order, and return to some of them.
func inWindows(r *rand.Rand, names []string) (visits []string) {
	for window := range slices.Chunk(names, 16) {
		first := len(visits)
		visits = append(visits, window...)
		r.Shuffle(len(window), func(i, j int) { visits[first+i], visits[first+j] = visits[first+j], visits[first+i] })
		visits = append(visits, visits[first], visits[first+len(window)/2])
	}
	return visits
}
