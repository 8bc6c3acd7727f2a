// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/proompteng/controllerkit/internal/isnil"
)

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
