// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/bench/virtual"
)

// jobs is how many Jobs each rule is asked about.
const jobs = 1000

// rounds is how often each race is run: how the goroutines of a rule and of the
// informer overtake one another is luck.
const rounds = 9

// lags are by how many milliseconds the watch is late.
var lags = []int{0, 250, 1500}

// seen counts the answers of a rule.
type seen struct {
	Wrong int // Jobs that it calls missing and that are there
	Reads int // live reads, which correct the cache
}

// races measures in virtual time what each rule has wrong when it is asked for
// a Job that was just created, and what the rules that read live read.
func races(ctx context.Context) (out []bench.Measure) {
	for _, lag := range lags {
		name := fmt.Sprintf("just created, watch lags %d ms", lag)
		count := func(r rule, number func(seen) int) bench.Subject {
			return bench.Subject{Name: r.name, Count: func() (float64, error) {
				s, err := virtual.Play[seen](ctx, fmt.Sprintf("%d|%s", lag, r.name))
				return float64(number(s)), err
			}}
		}
		measure := func(unit string, number func(seen) int, peers ...rule) {
			m := bench.Measure{
				Name: name, Unit: unit, Rounds: rounds, Ours: count(ours, number),
				Gates: []bench.Gate{{Unit: unit, Limit: "= 0"}},
			}
			for _, r := range peers {
				m.Peers = append(m.Peers, count(r, number))
			}
			out = append(out, m)
		}
		measure("falsely missing", func(s seen) int { return s.Wrong }, byLister, live)
		measure("GETs", func(s seen) int { return s.Reads }, live)
	}
	return out
}

// play runs the race that its argument names, "milliseconds|rule". It creates a
// Job each millisecond and asks immediately.
func play(ctx context.Context, what string) (out seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // what waits for longer waits for what does not come
	defer cancel()
	lag, by, _ := strings.Cut(what, "|")
	late, err := time.ParseDuration(lag + "ms")
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(rules, func(r rule) bool { return r.name == by })
	if at < 0 {
		return out, fmt.Errorf("there is no rule %q", by)
	}
	w, err := newWorld(ctx, late)
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
			missing, err := rules[at].look(ctx, w, ref)
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
