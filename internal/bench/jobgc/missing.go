// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/bench/virtual"
	"github.com/proompteng/controllerkit/jobgc"
)

// jobs is how many Jobs each rule is asked about.
const jobs = 1000

// rounds is how often each race is run: how the goroutines of a rule and of the
// informer overtake one another is luck.
const rounds = 9

// seen counts the answers of a rule.
type seen struct {
	Wrong int // Jobs that it calls missing and that are there, or whose result it has lost
	Reads int // live reads, which correct the cache
}

// race is a rule that looks while the Jobs change.
type race struct {
	name string
	unit string // of the wrong answers
	run  func(ctx context.Context, r rule) (seen, error)
}

func races() (out []race) {
	for _, ms := range []int{0, 50, 250, 1500} {
		lag := time.Duration(ms) * time.Millisecond
		out = append(out, race{
			fmt.Sprintf("just created, watch lags %d ms", ms), "falsely missing",
			func(ctx context.Context, r rule) (seen, error) { return afterCreate(ctx, r, lag) },
		})
	}
	for _, ms := range []int{20, 100, 500, 3000} { // a watch reports a creation after about 20 ms
		delay := time.Duration(ms) * time.Millisecond
		out = append(out, race{
			fmt.Sprintf("TTL 0, read %d ms after completion", ms), "results lost",
			func(ctx context.Context, r rule) (seen, error) { return afterCompletion(ctx, r, delay) },
		})
	}
	return out
}

// lost measures what each rule has wrong in each race, in virtual time, and
// what the rules that read live read to know better.
func lost(ctx context.Context) (out []bench.Measure) {
	for _, rc := range races() {
		count := func(r rule, number func(seen) int) bench.Subject {
			return bench.Subject{Name: r.name, Count: func() (float64, error) {
				s, err := virtual.Play[seen](ctx, rc.name+"|"+r.name)
				return float64(number(s)), err
			}}
		}
		measure := func(unit string, number func(seen) int, peers ...rule) {
			m := bench.Measure{Name: rc.name, Unit: unit, Rounds: rounds, Ours: count(ours, number), Gates: []bench.Gate{{Unit: unit, Limit: "= 0"}}}
			for _, r := range peers {
				m.Peers = append(m.Peers, count(r, number))
			}
			out = append(out, m)
		}
		measure(rc.unit, func(s seen) int { return s.Wrong }, byLister, again, live)
		measure("GETs", func(s seen) int { return s.Reads }, live)
	}
	return out
}

// play runs the race that its argument names, "race|rule".
func play(ctx context.Context, what string) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // what waits for longer waits for what does not come
	defer cancel()
	name, by, _ := strings.Cut(what, "|")
	for _, rc := range races() {
		for _, r := range rules {
			if rc.name == name && r.name == by {
				return rc.run(ctx, r)
			}
		}
	}
	return seen{}, fmt.Errorf("there is no %q", what)
}

// afterCreate creates a Job each millisecond and asks immediately.
func afterCreate(ctx context.Context, r rule, lag time.Duration) (out seen, err error) {
	w, err := newWorld(ctx, lag)
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
	return seen{Wrong: missing, Reads: w.server.gets}, err
}

// afterCompletion completes Jobs that the informer knows. The TTL controller
// deletes each 80 to 190 ms later, as measured on a real one, and the rule is
// asked after delay.
func afterCompletion(ctx context.Context, r rule, delay time.Duration) (out seen, err error) {
	w, err := newWorld(ctx, 0)
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
		if err := ctx.Err(); err != nil {
			return out, fmt.Errorf("the informer does not know all Jobs: %w", err)
		}
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
	return seen{Wrong: jobs - succeeded, Reads: w.server.gets}, err
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
