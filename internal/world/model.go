// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"strings"
	"time"
)

// Model is a cluster with controllers, and the rules that they have to keep. F
// is what the rules have to remember of the past.
type Model[F comparable] struct {
	// Name is for the report.
	Name string

	// Store is the cluster at the start. Its time is Began.
	Store Store

	// Replicas begin the processes of the controllers under test. All of them
	// run.
	Replicas []func(api *API) Process

	// Cached has the resources that the processes watch.
	Cached []string

	// Wakes reports whether a change that a cache shows causes a call. Nil means
	// that each does.
	Wakes func(c Change) bool

	// Actors are the other clients of the cluster.
	Actors []Actor

	// Facts are what is known at the start. Note adds what a write shows. Nil
	// notes nothing.
	Facts F
	Note  func(f F, w Write) F

	// Check returns what is wrong with a state; empty if nothing is.
	Check func(s *Store, f F) string

	// Right returns what is missing in a world without faults; empty if it has
	// ended well.
	Right func(s *Store, f F) string

	// Budgets is how much may go wrong on one path.
	Budgets Budgets

	// MaxStates is where the search gives up, with an error. MaxCalm is the number
	// of steps that a world without faults may take until it is right.
	MaxStates, MaxCalm int
}

// Actor is another client of the cluster, such as a controller of Kubernetes or
// a person.
type Actor struct {
	Name string

	// IsRude says that each of its writes costs one of Budgets.Acts. It does
	// nothing in a world without faults.
	IsRude bool

	// Next returns the writes that it can do now, each an alternative, and when it
	// will be able to do more; zero for never. Without faults it does the first.
	Next func(s *Store) (writes []Request, at time.Time)
}

// Write is a request that changed the cluster.
type Write struct {
	Request
	Change

	By  string // "replica 1", or the name of an actor
	Now time.Time
}

// Budgets is how often something may happen on one path of a search. All other
// things may happen at any time.
type Budgets struct {
	Crashes  int // a process is killed: between two calls, before a request, or after it was executed
	Stale    int // a process starts with the caches of the one before
	Faults   int // a request fails, or its answer is lost
	Late     int // a write is executed within a minute after its client got an error
	Pauses   int // a process gets an answer after other things have happened
	Switches int // a replica acts during the call of another
	Acts     int // a rude actor writes
	Waits    int // time passes up to the next moment that anything waits for
}

// String lists the budgets that are not zero.
func (b Budgets) String() string {
	var some []string
	for _, one := range []struct {
		count int
		name  string
	}{
		{b.Crashes, "crashes"},
		{b.Stale, "stale starts"},
		{b.Faults, "faults"},
		{b.Late, "late writes"},
		{b.Pauses, "pauses"},
		{b.Switches, "switches"},
		{b.Acts, "acts"},
		{b.Waits, "waits"},
	} {
		if one.count > 0 {
			some = append(some, fmt.Sprintf("%d %s", one.count, one.name))
		}
	}
	if len(some) == 0 {
		return "none"
	}
	return strings.Join(some, ", ")
}

// Report is what a search has seen.
type Report struct {
	Name       string
	Budgets    Budgets
	States     int // reachable states
	Calm       int // states that the world passes without faults
	Replays    int // runs of the code under test
	IsComplete bool
	Took       time.Duration
}

// String is one line.
func (r Report) String() string {
	completeness := "INCOMPLETE"
	if r.IsComplete {
		completeness = "complete"
	}
	return fmt.Sprintf("%s: budgets %s: %d states, %d calm states, %d replays, %s, %s",
		r.Name, r.Budgets, r.States, r.Calm, r.Replays, r.Took.Round(time.Millisecond), completeness)
}
