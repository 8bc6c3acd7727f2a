// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"
)

// ErrTooMany says that a search stopped before it had seen all states. It has
// shown nothing then.
var ErrTooMany = errors.New("world: too many states")

// run is one search.
type run[F comparable] struct {
	Model[F]

	t      *testing.T
	seed   maphash.Seed
	seen   map[uint64]bool
	ends   map[uint64]bool // states that end right without faults
	broken error
	report Report
}

// node is a state, and how the search came there.
type node[F comparable] struct {
	state  *state[F]
	before *node[F]
	step   string
}

// Search visits all states that the world can reach, those with the fewest
// steps first. The error has the steps to the first state that breaks a rule,
// or is ErrTooMany. It needs a test for testing/synctest, and does not fail it.
func (m Model[F]) Search(t *testing.T) (Report, error) {
	t.Helper()
	r := &run[F]{Model: m, t: t, seed: maphash.MakeSeed(), seen: map[uint64]bool{}, ends: map[uint64]bool{}}
	r.report = Report{Name: m.Name, Budgets: m.Budgets}
	from := time.Now()
	err := r.search()
	r.report.States = len(r.seen)
	r.report.Calm = len(r.ends)
	r.report.IsComplete = err == nil
	r.report.Took = time.Since(from)
	return r.report, err
}

func (r *run[F]) search() error {
	start := &state[F]{store: r.Store, facts: r.Facts, left: r.Budgets}
	start.store.Now = Began()
	start.processes = make([]process, len(r.Replicas))
	for i := range start.processes {
		start.processes[i].caches = r.cachedObjects(&r.Store)
	}
	todo := []*node[F]{{state: start, step: "start"}}
	r.isNew(start)
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		wrong := r.brokenRule(at.state)
		r.next(at.state, func(step string, after *state[F]) {
			if r.isNew(after) {
				todo = append(todo, &node[F]{after, at, step})
			}
		})
		if r.broken != nil {
			return fmt.Errorf("world: %s: %w, after:\n%s", r.Name, r.broken, at.path())
		}
		if wrong != "" {
			return fmt.Errorf("world: %s: %s, after:\n%s", r.Name, wrong, at.path())
		}
		if len(r.seen) > r.MaxStates {
			return fmt.Errorf("%w: %s has more than %d", ErrTooMany, r.Name, r.MaxStates)
		}
	}
	return nil
}

// isNew reports whether a state is seen for the first time.
func (r *run[F]) isNew(s *state[F]) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	maphash.WriteComparable(&h, s.left)
	maphash.WriteComparable(&h, s.active)
	maphash.WriteComparable(&h, hashState(r.seed, s))
	hash := h.Sum64()
	if r.seen[hash] {
		return false
	}
	r.seen[hash] = true
	return true
}

// brokenRule returns which rule a state breaks; empty for none.
func (r *run[F]) brokenRule(s *state[F]) string {
	wrong := r.Check(&s.store, s.facts)
	if wrong != "" {
		return wrong
	}
	return r.calm(s)
}

// calm follows the world without faults until it has ended right.
func (r *run[F]) calm(s *state[F]) string {
	var passed []uint64
	var steps []string
	for range r.MaxCalm {
		hash := hashState(r.seed, s)
		if r.ends[hash] {
			r.keep(passed)
			return ""
		}
		passed = append(passed, hash)
		wrong := r.Check(&s.store, s.facts)
		if wrong != "" {
			return wrong + ", without another fault:\n" + indent(steps)
		}
		step, after := r.calmStep(s)
		missing := r.Right(&s.store, s.facts)
		isQuiet := after == nil || strings.HasSuffix(step, " pass")
		if isQuiet && missing == "" {
			r.keep(passed)
			return ""
		}
		if after == nil {
			return missing + ", when nothing else can happen:\n" + indent(steps)
		}
		steps = append(steps, step)
		s = after
	}
	last := steps[max(0, len(steps)-20):]
	missing := r.Right(&s.store, s.facts)
	return fmt.Sprintf("%s, after %d steps without faults; the last:\n%s", missing, r.MaxCalm, indent(last))
}

// keep remembers that the world ends right from these states.
func (r *run[F]) keep(passed []uint64) {
	for _, hash := range passed {
		r.ends[hash] = true
	}
}

// calmStep does one step of a world without faults. It returns nil if nothing
// can happen.
func (r *run[F]) calmStep(s *state[F]) (step string, after *state[F]) {
	first := func(text string, next *state[F]) {
		if after == nil {
			step = text
			after = next
		}
	}
	s = s.clone()
	s.left = Budgets{}
	if len(s.late) > 0 {
		r.executeLate(s, 0, first)
		return step, after
	}
	for i := range s.processes {
		r.caches(s, i, first)
		if after == nil {
			r.process(s, i, func(text string, next *state[F]) { first(replica(i)+": "+text, next) })
		}
		if after != nil {
			return step, after
		}
	}
	for _, a := range r.Actors {
		if !a.IsRude {
			r.act(s, a, first)
		}
		if after != nil {
			return step, after
		}
	}
	r.wait(s, true, first)
	return step, after
}

func (n *node[F]) path() string {
	var steps []string
	for ; n != nil; n = n.before {
		steps = append(steps, n.step)
	}
	slices.Reverse(steps)
	return indent(steps)
}

func indent(steps []string) string { return "  " + strings.Join(steps, "\n  ") }
