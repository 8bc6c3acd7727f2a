// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/jobgc"
)

// jobs is how many Jobs each rule is asked about.
const jobs = 1000

// seen is what was counted of a rule.
type seen struct{ falselyMissing, lost, reads int }

// misses counts Jobs that a rule calls missing right after they were created, and what it reads live to know better.
func misses(ctx context.Context) []bench.Measure {
	var out []bench.Measure
	for _, ms := range []int{0, 50, 250, 1500} {
		lag := time.Duration(ms) * time.Millisecond
		name := fmt.Sprintf("just created, watch lags %d ms", ms)
		wrong := bench.Measure{Name: name, Unit: "falsely missing", Gates: []bench.Gate{{Unit: "falsely missing", Limit: "= 0"}}}
		reads := bench.Measure{Name: name, Unit: "GETs", Gates: []bench.Gate{{Unit: "GETs", Limit: "= 0"}}}
		add(&wrong, &reads, func(r rule) (seen, error) { return afterCreate(ctx, r, lag) }, func(s seen) int { return s.falselyMissing })
		out = append(out, wrong, reads)
	}
	return out
}

// losses counts results that a rule has lost, of Jobs with a TTL of 0 that were read a while after they completed.
func losses(ctx context.Context) []bench.Measure {
	var out []bench.Measure
	for _, ms := range []int{20, 100, 500, 3000} { // 20 is about when a watch has told of it
		delay := time.Duration(ms) * time.Millisecond
		name := fmt.Sprintf("TTL 0, read %d ms after completion", ms)
		lost := bench.Measure{Name: name, Unit: "results lost", Gates: []bench.Gate{{Unit: "results lost", Limit: "= 0"}}}
		reads := bench.Measure{Name: name, Unit: "GETs", Gates: []bench.Gate{{Unit: "GETs", Limit: "= 0"}}}
		add(&lost, &reads, func(r rule) (seen, error) { return afterCompletion(ctx, r, delay) }, func(s seen) int { return s.lost })
		out = append(out, lost, reads)
	}
	return out
}

// add gives two measures their subjects, which are counted in the same run.
func add(first, reads *bench.Measure, run func(r rule) (seen, error), number func(seen) int) {
	for i, r := range append([]rule{ours}, peers...) {
		once := sync.OnceValues(func() (seen, error) { return run(r) })
		one := bench.Subject{Name: r.name, Count: func() (float64, error) {
			s, err := once()
			return float64(number(s)), err
		}}
		two := bench.Subject{Name: r.name, Count: func() (float64, error) {
			s, err := once()
			return float64(s.reads), err
		}}
		if i == 0 {
			first.Ours, reads.Ours = one, two
		} else {
			first.Peers, reads.Peers = append(first.Peers, one), append(reads.Peers, two)
		}
	}
}

// afterCreate creates a Job each millisecond and asks at once.
func afterCreate(ctx context.Context, r rule, lag time.Duration) (out seen, err error) {
	w, err := newWorld(ctx, lag, jobgc.Options{})
	if err != nil {
		return out, err
	}
	defer w.stop()
	var asked tally
	for i := range jobs {
		ref, err := w.create(ctx, i)
		if err != nil {
			return out, err
		}
		asked.ask(ctx, r, w, ref) // in the background: a rule may wait
		pass(time.Millisecond)
	}
	missing, _, err := asked.wait()
	return seen{falselyMissing: missing, reads: w.server.gets}, err
}

// afterCompletion completes Jobs that the informer knows. The TTL controller deletes each 80 to 190 ms later, as measured on
// a real one, and the rule is asked after delay.
func afterCompletion(ctx context.Context, r rule, delay time.Duration) (out seen, err error) {
	w, err := newWorld(ctx, 0, jobgc.Options{})
	if err != nil {
		return out, err
	}
	defer w.stop()
	refs := make([]jobgc.Ref, jobs)
	for i := range refs {
		if refs[i], err = w.create(ctx, i); err != nil {
			return out, err
		}
	}
	for len(w.store.ListKeys()) < jobs {
		pass(time.Millisecond)
	}
	var ttl sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	var asked tally
	for _, ref := range refs {
		w.server.complete(ref.Name)
		after := 80*time.Millisecond + time.Duration(random.Int64N(int64(110*time.Millisecond)))
		ttl.Go(func() { pass(after); w.server.remove(ref.Name) })
		ttl.Go(func() { pass(delay); asked.ask(ctx, r, w, ref) })
	}
	ttl.Wait()
	missing, succeeded, err := asked.wait()
	if missing+succeeded != jobs && err == nil {
		err = errors.New("a rule says neither")
	}
	return seen{lost: jobs - succeeded, reads: w.server.gets}, err
}

// tally collects verdicts.
type tally struct {
	wg                 sync.WaitGroup
	mu                 sync.Mutex
	missing, succeeded int
	err                error
}

// ask asks the rule, and counts what it says.
func (c *tally) ask(ctx context.Context, r rule, w *world, ref jobgc.Ref) {
	c.wg.Go(func() {
		v, err := r.look(ctx, w, ref)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = errors.Join(c.err, err)
		if v.missing {
			c.missing++
		}
		if v.succeeded {
			c.succeeded++
		}
	})
}

func (c *tally) wait() (missing, succeeded int, err error) {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missing, c.succeeded, c.err
}
