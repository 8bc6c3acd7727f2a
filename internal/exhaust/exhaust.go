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
// collision would hide a state, which is unlikely below a hundred million.
package exhaust

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// Model is a world. S holds all of its state, the budgets included.
type Model[S comparable] struct {
	// Name and Budgets are for the report.
	Name, Budgets string

	// Start is where the world begins.
	Start []S

	// Next calls yield with each event that can happen, and the state after it.
	Next func(s S, yield func(event string, after S))

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
type search[S comparable] struct {
	model  Model[S]
	seed   maphash.Seed
	seen   map[uint64]struct{}
	rests  map[uint64]struct{} // states from which the calm ends right
	report Report
}

// frame is a state on the path, with the events that were not followed yet.
type frame[S comparable] struct {
	event string
	state S
	next  []step[S]
}

type step[S comparable] struct {
	event string
	state S
}

// Search visits all states. The error has the events that lead to the first
// state that breaks a rule, or is ErrTooMany.
func (m Model[S]) Search() (Report, error) {
	s := &search[S]{model: m, seed: maphash.MakeSeed()}
	s.seen = map[uint64]struct{}{}
	s.rests = map[uint64]struct{}{}
	s.report = Report{Name: m.Name, Budgets: m.Budgets, Marks: map[string]int{}}
	began := time.Now()
	err := s.run()
	s.report.States = len(s.seen)
	s.report.Ends = len(s.rests)
	s.report.Complete = err == nil
	s.report.Took = time.Since(began)
	return s.report, err
}

func (s *search[S]) run() error {
	for _, start := range s.model.Start {
		err := s.from(start)
		if err != nil {
			return err
		}
	}
	return nil
}

// from visits all states behind one.
func (s *search[S]) from(start S) error {
	path, err := s.enter(nil, "start", start)
	if err != nil {
		return err
	}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if len(top.next) == 0 {
			path = path[:len(path)-1]
			continue
		}
		chosen := top.next[len(top.next)-1]
		top.next = top.next[:len(top.next)-1]
		path, err = s.enter(path, chosen.event, chosen.state)
		if err != nil {
			return err
		}
	}
	return nil
}

// enter adds a state to the path, unless it was seen.
func (s *search[S]) enter(path []frame[S], event string, state S) ([]frame[S], error) {
	hash := maphash.Comparable(s.seed, state)
	_, known := s.seen[hash]
	if known {
		return path, nil
	}
	if len(s.seen) >= s.model.MaxStates {
		return path, fmt.Errorf("%w: %s has more than %d", ErrTooMany, s.model.Name, s.model.MaxStates)
	}
	s.seen[hash] = struct{}{}
	f := frame[S]{event: event, state: state}
	path = append(path, f)
	wrong := s.judge(state)
	if wrong != "" {
		return path, fmt.Errorf("exhaust: %s: %s, after:\n%s", s.model.Name, wrong, told(path))
	}
	s.model.Next(state, func(event string, after S) {
		f.next = append(f.next, step[S]{event, after})
	})
	path[len(path)-1] = f
	return path, nil
}

// judge holds a state to the rules.
func (s *search[S]) judge(state S) string {
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
// state that is known to end right.
func (s *search[S]) calm(state S) string {
	if s.model.Calm == nil {
		return ""
	}
	var passed []uint64
	for range s.model.MaxCalm {
		hash := maphash.Comparable(s.seed, state)
		_, known := s.rests[hash]
		if known {
			return s.keep(passed)
		}
		passed = append(passed, hash)
		after := s.model.Calm(state)
		if after == state {
			wrong := s.model.Right(state)
			if wrong != "" {
				return "at rest: " + wrong
			}
			return s.keep(passed)
		}
		wrong := s.model.Check(after)
		if wrong != "" {
			return "in the calm: " + wrong
		}
		state = after
	}
	return fmt.Sprintf("no rest after %d calm steps", s.model.MaxCalm)
}

// keep remembers that the calm ends right from these states.
func (s *search[S]) keep(passed []uint64) string {
	for _, hash := range passed {
		s.rests[hash] = struct{}{}
	}
	return ""
}

// told lists the events of a path.
func told[S comparable](path []frame[S]) string {
	var lines []string
	for _, f := range path {
		lines = append(lines, "  "+f.event)
	}
	return strings.Join(lines, "\n")
}
