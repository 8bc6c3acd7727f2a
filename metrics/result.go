// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// Result is how a reconcile or a run ended. The set is closed, so the label is bounded. The zero value is [Panic]:
// a result that nobody set means that nobody came to set it. An undefined value counts as [Error].
type Result uint8

// The results. The names of success, requeue, requeue_after and error equal controller-runtime's labels.
const (
	// Panic is a reconcile that did not return.
	Panic Result = iota
	// Success needs no further reconcile.
	Success
	// Requeue asks for another reconcile at the rate limiter's pace, without an error. [Classify] never returns it, as
	// controller-runtime no longer advises it.
	Requeue
	// RequeueAfter asks for another reconcile at a time of its choice.
	RequeueAfter
	// Error is retried.
	Error
	// TerminalError is an error that a retry of the same inputs meets again: only a change of the object, or of what it
	// depends on, helps.
	TerminalError
	// Timeout is a reconcile whose deadline passed.
	Timeout
	// Canceled is a reconcile that was told to stop.
	Canceled

	resultCount = iota
)

// String returns the label value, for example "requeue_after".
func (r Result) String() string {
	switch r {
	case Panic:
		return "panic"
	case Success:
		return "success"
	case Requeue:
		return "requeue"
	case RequeueAfter:
		return "requeue_after"
	case TerminalError:
		return "terminal_error"
	case Timeout:
		return "timeout"
	case Canceled:
		return "canceled"
	case Error:
	}
	return "error"
}

// Failed reports whether r counts as an error for an error ratio: panic, error, terminal_error and timeout do, canceled
// does not, since a rollout cancels what runs.
func (r Result) Failed() bool {
	switch r {
	case Success, Requeue, RequeueAfter, Canceled:
		return false
	case Panic, Error, TerminalError, Timeout:
	}
	return true
}

// index is r as an index of a per-result table, whatever its value.
func (r Result) index() int {
	if r >= resultCount {
		return int(Error)
	}
	return int(r)
}
