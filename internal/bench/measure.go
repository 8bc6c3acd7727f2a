// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import "testing"

// The units of a timed measure.
const (
	Nanos    = "ns"
	Allocs   = "allocs"
	Bytes    = "B"
	Requests = "requests"
)

// Group has the measures of one program.
type Group struct {
	// Package is the package of the library, the first column of the table.
	Package string
	// Peers are the modules of the peers, by their names in the table.
	Peers []Peer
	// Measures returns the measures, which run in this order in the test.
	Measures func(*testing.T) ([]Measure, error)
	// Note says how it is measured. Empty means by medians of rounds.
	Note string
	// Remark is for readers of the table, in lines. It may be empty.
	Remark string
}

// Peer is the path of a peer's module; std is Go's standard library.
type Peer struct{ Name, Module string }

// Measure is one job that the library and its peers do.
type Measure struct {
	// Name describes the job in a few words.
	Name string
	// Counts are the numbers of a job that is not timed.
	Counts []Count
	// Rounds is how often each subject of a job that is not timed runs. Zero
	// means once.
	Rounds int
	// Ours and the Peers do the same work. Ours is the library.
	Ours  Subject
	Peers []Subject
	// Gates are the limits of a timed job. A row without one only reports its
	// numbers.
	Gates []Gate
}

// Count is one number of a job that is not timed.
type Count struct {
	// Unit of the number.
	Unit string
	// What is added to the name of the measure. It may be empty.
	What string
	// Limit on the library's number, as in [Gate]. It may be empty.
	Limit string
}

// Subject does a job in one way.
type Subject struct {
	// Name of a peer, one of Group.Peers. The library needs none.
	Name string
	// Do does the job n times. Its time and its allocations are measured.
	Do func(n int) error
	// Requests returns the number of requests to the API server so far. It is
	// nil if the job sends none.
	Requests func() int64
	// Count replaces Do: it does the job once and returns the numbers of
	// Measure.Counts.
	Count func() ([]float64, error)
}

// Gate is a limit of one row of the table, such as "<= 20" for the library's
// number or "<= 0.2x" for its ratio to a peer.
type Gate struct {
	// Unit of the row.
	Unit string
	// Peer of the row. Empty means a limit on the library's number.
	Peer string
	// Limit is "<=" or "=", a number, and "x" for a ratio. "<= 2x or 50000" is
	// also kept by an own number of 50000.
	Limit string
}

// Each returns a Do that calls f n times, or until it fails.
func Each(f func() error) func(n int) error {
	return func(n int) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}
