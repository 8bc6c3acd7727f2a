// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Result is how a run ended: Success, Error, TerminalError, Timeout or
// Canceled. An undefined value counts as [Error]. Reconciles have more results,
// which [Controller.Begin] lists.
type Result uint8

// The results. Their label values are "success", "error", "terminal_error",
// "timeout" and "canceled".
const (
	// Error is a failure that is retried.
	Error Result = iota
	// Success is a run that did what it was made for.
	Success
	// TerminalError is a failure that a retry of the same inputs returns again.
	TerminalError
	// Timeout is a run whose deadline passed.
	Timeout
	// Canceled is a run that was stopped on request.
	Canceled

	requeueAfter
	panicked
	forgotten

	resultCount = iota
)

// String returns the label value, for example "terminal_error".
func (r Result) String() string {
	if r >= resultCount {
		r = Error
	}
	return [resultCount]string{
		"error", "success", "terminal_error", "timeout", "canceled",
		"requeue_after", "panic", "forgotten",
	}[r]
}

// resultOf returns the result of a reconcile that returned.
func (s *set) resultOf(err error, after time.Duration) Result {
	switch {
	case err == nil && after > 0:
		return requeueAfter
	case err == nil:
		return Success
	case isnil.Is(err):
		return Error
	case s.terminal(err):
		return TerminalError
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Error
}

func (s *set) terminal(err error) bool {
	var own interface{ Terminal() bool }
	if errors.As(err, &own) && !isnil.Is(own) {
		return own.Terminal()
	}
	return s.isTerminal != nil && s.isTerminal(err)
}
