// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

// The units of a measure that is timed.
const (
	Nanos    = "ns"
	Allocs   = "allocs"
	Bytes    = "B"
	Requests = "requests"
)

// Group is what one program measures.
type Group struct {
	// Package is the package of the library, the first column of the table.
	Package string
	// Peers are the modules measured against, by the names that subjects have in the table.
	Peers []Peer
	// Measures are done in this order.
	Measures []Measure
	// Note says how it is measured where that is not by medians of rounds in turns. Empty means that it is.
	Note string
	// End is called when all is measured, or something has failed; nil if there is nothing to end.
	End func() error
}

// Peer names a module that we are measured against; std is Go's library.
type Peer struct{ Name, Module string }

// Measure is one job done by ours and the peers.
type Measure struct {
	// Name says what is done, in a few words.
	Name string
	// Unit is that of Subject.Count, and empty for a job that is timed.
	Unit string
	// Rounds is how often each subject has its turn. Zero means as often as the command line says if the job is timed,
	// and once if it is counted.
	Rounds int
	// Ours and the Peers do the same job. Without peers there is only our own number.
	Ours  Subject
	Peers []Subject
	// Gates are the limits. Of rows without one only the numbers are reported.
	Gates []Gate
}

// Subject is one way to do a job.
type Subject struct {
	// Name of a peer, one of Group.Peers. The name of ours is not used.
	Name string
	// Do does the job n times. It is timed, and its allocations are counted.
	Do func(n int) error
	// Least is how often Do is asked to do the job at the least, where each call costs something of its own. Zero means once.
	Least int
	// Less is a part of the job that is not to count, such as reading a clock: it is timed in the same turn, and subtracted.
	Less func(n int) error
	// Requests is how many requests to the API server were made so far; nil if the job makes none.
	Requests func() int64
	// Count does the job once and returns a number in Measure.Unit, instead of Do.
	Count func() (float64, error)
}

// Gate is a limit of one row of the table, such as "<= 20" for our number or "<= 0.2x" for the ratio ours/peer.
type Gate struct {
	// Unit of the row.
	Unit string
	// Peer of the row; empty if the limit is on our number alone.
	Peer string
	// Limit is "<=" or "=", a number, and "x" if it is one of the ratio.
	Limit string
}

// Each is a Do that calls f n times, until it fails.
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
