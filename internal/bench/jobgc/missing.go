// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
)

// jobs is how many Jobs each rule is asked about.
const jobs = 1000

// rounds is how often each race is run: how the goroutines of a rule and of the
// informer overtake one another is luck.
const rounds = 9

// lags are by how much the watch is late.
var lags = []time.Duration{0, 250 * time.Millisecond, 1500 * time.Millisecond}

// seen counts the answers of a rule.
type seen struct {
	Wrong int // Jobs that it calls missing and that are there
	Reads int // live reads, which correct the cache
}

// races measures in virtual time what each rule has wrong when it is asked for
// a Job that was just created, and what the rules that read live read.
func races(t *testing.T) (out []bench.Measure) {
	t.Helper()
	for _, lag := range lags {
		count := func(r rule) bench.Subject {
			return bench.Subject{Name: r.name, Count: func() (_ []float64, err error) {
				var s seen
				synctest.Test(t, func(t *testing.T) {
					t.Helper()
					s, err = play(t.Context(), lag, r)
				})
				return []float64{float64(s.Wrong), float64(s.Reads)}, err
			}}
		}
		out = append(out, bench.Measure{
			Name:   fmt.Sprintf("just created, watch lags %d ms", lag.Milliseconds()),
			Rounds: rounds, Ours: count(ours), Peers: []bench.Subject{count(byLister), count(live)},
			Counts: []bench.Count{{Unit: "falsely missing", Limit: "= 0"}, {Unit: "GETs", Limit: "= 0"}},
		})
	}
	return out
}

// play creates a Job each millisecond and asks a rule immediately.
func play(ctx context.Context, lag time.Duration, r rule) (out seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // what waits for longer waits for what does not come
	defer cancel()
	w, err := newWorld(ctx, lag)
	if err != nil {
		return out, err
	}
	defer w.stop()
	var asked sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for i := range jobs {
		ref, err := w.create(ctx, i)
		if err != nil {
			return out, err
		}
		asked.Go(func() { // in the background: a rule may wait
			missing, err := r.look(ctx, w, ref)
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
			if missing {
				out.Wrong++
			}
		})
		pass(time.Millisecond)
	}
	asked.Wait()
	out.Reads = w.server.gets
	return out, errors.Join(failed...)
}
