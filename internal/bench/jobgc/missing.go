// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// jobs is how many Jobs each rule is asked about.
const jobs = 1000

// rounds is how often the race is run: how the goroutines of a rule and of the
// informer overtake one another is luck.
const rounds = 3

// lag is by how much the watch is late.
const lag = 250 * time.Millisecond

// race measures in virtual time what each rule has wrong when it is asked for a
// Job that was just created, and what the rules that read live read.
func race(t *testing.T) bench.Measure {
	t.Helper()
	count := func(r rule) bench.Subject {
		return bench.Subject{Name: r.name, Count: func() (_ []float64, err error) {
			var wrong, reads int
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				wrong, reads, err = play(t.Context(), r)
			})
			return []float64{float64(wrong), float64(reads)}, err
		}}
	}
	return bench.Measure{
		Name:   "just created, watch lags 250 ms",
		Rounds: rounds, Ours: count(ours), Peers: []bench.Subject{count(byLister), count(live)},
		Counts: []bench.Count{{Unit: "falsely missing", Limit: "= 0"}, {Unit: "GETs", Limit: "= 0"}},
	}
}

// play creates a Job each millisecond and asks a rule immediately. It returns
// how many Jobs the rule calls missing, and how many it reads live.
func play(ctx context.Context, r rule) (wrong, reads int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // what waits for longer waits for what does not come
	defer cancel()
	w, err := newWorld(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer w.stop()
	var asked sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for i := range jobs {
		ref, err := w.create(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		asked.Go(func() { // in the background: a rule may wait
			missing, err := r.look(ctx, w, ref)
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
			if missing {
				wrong++
			}
		})
		pass(time.Millisecond)
	}
	asked.Wait()
	return wrong, w.reads(), errors.Join(failed...)
}
