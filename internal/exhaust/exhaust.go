// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exhaust visits every state that a small world can reach.
//
// A [Model] has the states of a world, what can happen in each of them, and two
// rules. Check is about each state. Calm and Right are about the end: from each
// state, when nothing fails, the world comes to rest after a bounded
// number of steps, and rests right. A search therefore shows safety and
// eventual stability for all interleavings, within the budgets that the states
// carry.
//
// The search is depth-first. It remembers states by hashes of 64 bits: a
// collision would hide a state, which is unlikely below a hundred million. It
// is fast if a state has no pointers, no strings and no padding, and if an
// event is a number or a small struct whose String method names it.
package exhaust

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// Model is a world. S holds all of its state, the budgets included. E is what
// can happen in it, for the report of a broken rule.
type Model[S comparable, E any] struct {
	// Name and Budgets are for the report.
	Name, Budgets string

	// Start is where the world begins.
	Start S

	// Next calls yield with each event that can happen, and the state after it.
	Next func(s S, yield func(event E, after S))

	// Check returns what is wrong with a state; empty if nothing is.
	Check func(s S) string

	// Calm does one step without faults. It returns s itself if the world
	// rests. Budgets do not concern it.
	Calm func(s S) S

	// Right returns what is wrong with a world that rests; empty if nothing is.
	Right func(s S) string

	// Mark names a state that is worth counting; empty for any other. Nil
	// counts nothing.
	Mark func(s S) string

	// MaxStates is where the search gives up, with an error. MaxCalm is how
	// many calm steps the world has to come to rest.
	MaxStates, MaxCalm int
}

// Report is what a search has seen.
type Report struct {
	Name, Budgets string
	States, Ends  int            // states, and the states that the calm passes through
	Marks         map[string]int // how many states have each mark
	Complete      bool           // every state was visited
	Took          time.Duration
}

// String is one line.
func (r Report) String() string {
	state := "INCOMPLETE"
	if r.Complete {
		state = "complete"
	}
	took := r.Took.Round(time.Millisecond)
	return fmt.Sprintf("%s: budgets %s, %d states, %d calm states, %s, %s",
		r.Name, r.Budgets, r.States, r.Ends, took, state)
}

// ErrTooMany says that the search stopped before it had seen all states. It has
// shown nothing then.
var ErrTooMany = errors.New("exhaust: too many states")

// search is one search.
type search[S comparable, E any] struct {
	model  Model[S, E]
	seed   maphash.Seed
	seen   map[uint64]bool
	rests  map[uint64]bool // calm states with a right end
	path   []frame[E]
	todo   []step[S, E] // what was not followed yet, of all states of the path
	report Report
}

// frame is a state of the path.
type frame[E any] struct {
	event E
	todo  int // how much of todo belongs to the states before it
}

type step[S comparable, E any] struct {
	event E
	hash  uint64
	state S
}

// Search visits all states. The error has the events that lead to the first
// state that breaks a rule, or is ErrTooMany.
func (m Model[S, E]) Search() (Report, error) {
	s := &search[S, E]{
		model: m, seed: maphash.MakeSeed(), seen: map[uint64]bool{}, rests: map[uint64]bool{},
	}
	s.report = Report{Name: m.Name, Budgets: m.Budgets, Marks: map[string]int{}}
	began := time.Now()
	err := s.run()
	s.report.States = len(s.seen)
	s.report.Ends = len(s.rests)
	s.report.Complete = err == nil
	s.report.Took = time.Since(began)
	return s.report, err
}

func (s *search[S, E]) run() error {
	var started E
	s.add(started, s.model.Start)
	for len(s.todo) > 0 {
		last := len(s.todo) - 1
		next := s.todo[last]
		s.todo = s.todo[:last]
		for len(s.path) > 0 && last < s.path[len(s.path)-1].todo {
			s.path = s.path[:len(s.path)-1]
		}
		err := s.enter(next)
		if err != nil {
			return err
		}
	}
	return nil
}

// add notes a state to enter, unless it was seen.
func (s *search[S, E]) add(event E, state S) {
	hash := s.hash(state)
	if !s.seen[hash] {
		s.todo = append(s.todo, step[S, E]{event, hash, state})
	}
}

func (s *search[S, E]) hash(state S) uint64 { return maphash.Comparable(s.seed, state) }

// enter adds a state to the path, unless it was seen.
func (s *search[S, E]) enter(next step[S, E]) error {
	if s.seen[next.hash] {
		return nil
	}
	if len(s.seen) >= s.model.MaxStates {
		return fmt.Errorf("%w: %s has more than %d", ErrTooMany, s.model.Name, s.model.MaxStates)
	}
	s.seen[next.hash] = true
	s.path = append(s.path, frame[E]{next.event, len(s.todo)})
	wrong := s.judge(next.state)
	if wrong != "" {
		return fmt.Errorf("exhaust: %s: %s, after:\n%s", s.model.Name, wrong, s.events())
	}
	s.model.Next(next.state, s.add)
	return nil
}

// judge holds a state to the rules.
func (s *search[S, E]) judge(state S) string {
	if s.model.Mark != nil {
		mark := s.model.Mark(state)
		if mark != "" {
			s.report.Marks[mark]++
		}
	}
	wrong := s.model.Check(state)
	if wrong != "" {
		return wrong
	}
	return s.calm(state)
}

// calm follows the world without faults until it rests, or until it passes a
// state that is known to end right. The first state is not remembered: the
// search asks once for each.
func (s *search[S, E]) calm(state S) string {
	if s.model.Calm == nil {
		return ""
	}
	var passed []uint64
	for range s.model.MaxCalm {
		after := s.model.Calm(state)
		if after == state {
			wrong := s.model.Right(state)
			if wrong != "" {
				return "at rest: " + wrong
			}
			s.keep(passed)
			return ""
		}
		state = after
		hash := s.hash(state)
		if s.rests[hash] {
			s.keep(passed)
			return ""
		}
		wrong := s.model.Check(state)
		if wrong != "" {
			return "in the calm: " + wrong
		}
		passed = append(passed, hash)
	}
	return fmt.Sprintf("no rest after %d calm steps", s.model.MaxCalm)
}

// keep remembers that the calm ends right from these states.
func (s *search[S, E]) keep(passed []uint64) {
	for _, hash := range passed {
		s.rests[hash] = true
	}
}

// events lists the events of the path.
func (s *search[S, E]) events() string {
	lines := []string{"  start"}
	for _, f := range s.path[1:] {
		lines = append(lines, fmt.Sprintf("  %v", f.event))
	}
	return strings.Join(lines, "\n")
}
