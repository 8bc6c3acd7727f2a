// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Result is how a reconcile or a run ended: Unknown, Panic, Success, Requeue,
// RequeueAfter, Error, TerminalError, Timeout or Canceled. The set is closed,
// so the label is bounded. An undefined value counts as [Error].
type Result uint8

// The results. The names of success, requeue, requeue_after and error equal
// controller-runtime's labels.
const (
	// Unknown is a reconcile that returned before it set a result. It is not a
	// failure. Its series appears with the first one.
	Unknown Result = iota
	// Panic is a reconcile that did not return.
	Panic
	// Success needs no further reconcile.
	Success
	// Requeue asks for another reconcile at the rate limiter's pace, without an
	// error. [Classify] never returns it, as controller-runtime no longer
	// advises it.
	Requeue
	// RequeueAfter asks for another reconcile at a time of its choice.
	RequeueAfter
	// Error is retried.
	Error
	// TerminalError is an error that a retry of the same inputs returns again.
	// Only a change of the object, or of something that it depends on, helps.
	TerminalError
	// Timeout is a reconcile whose deadline passed.
	Timeout
	// Canceled is a reconcile whose context was canceled.
	Canceled

	resultCount = iota
)

// String returns the label value, for example "requeue_after".
func (r Result) String() string {
	return [resultCount]string{
		"unknown", "panic", "success", "requeue", "requeue_after",
		"error", "terminal_error", "timeout", "canceled",
	}[r.index()]
}

// Failed reports whether r counts as an error for an error ratio: panic, error,
// terminal_error and timeout do. canceled does not, because a rollout cancels
// running reconciles. unknown does not either.
func (r Result) Failed() bool {
	return !slices.Contains([]Result{Unknown, Success, Requeue, RequeueAfter, Canceled}, r)
}

// index is r as an index of a per-result table, for any value.
func (r Result) index() int {
	if r >= resultCount {
		return int(Error)
	}
	return int(r)
}

// Classify maps the outcome of a reconciler to a [Result].
//
// Without an error it is [RequeueAfter] when requeueAfter is positive and
// [Success] otherwise. The first error in the chain of err that has a method
// Terminal() bool decides whether it is a [TerminalError]. If none has the
// method, terminal decides. Any other error that wraps
// [context.DeadlineExceeded] is [Timeout], and any that wraps
// [context.Canceled] is [Canceled]. The rest is [Error], also a nil pointer in
// err.
//
// The function terminal recognizes the API errors that no retry can fix, since
// this package imports no Kubernetes code. Pass events.IsTerminal, or nil.
func Classify(err error, requeueAfter time.Duration, terminal func(error) bool) Result {
	switch {
	case err == nil && requeueAfter > 0:
		return RequeueAfter
	case err == nil:
		return Success
	case isnil.Is(err):
		return Error
	case isTerminal(err, terminal):
		return TerminalError
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Error
}

func isTerminal(err error, terminal func(error) bool) bool {
	var own interface{ Terminal() bool }
	if errors.As(err, &own) && !isnil.Is(own) {
		return own.Terminal()
	}
	return terminal != nil && terminal(err)
}
