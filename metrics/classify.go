// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"
)

// Classify maps what a reconciler returned to a [Result].
//
// Without an error it is [RequeueAfter] when requeueAfter is positive and [Success] otherwise. An error that wraps
// [context.DeadlineExceeded] is [Timeout] and one that wraps [context.Canceled] is [Canceled], whatever else it wraps,
// because a shutdown must not look like broken objects. An error in whose chain something has a method
// Terminal() bool that returns true, or for which terminal returns true, is [TerminalError]. All others are [Error].
//
// terminal may be nil. It is where API errors that no retry mends come in, since this package imports no Kubernetes
// code; reconcile.TerminalError of controller-runtime fits as func(err error) bool { return errors.Is(err, reconcile.TerminalError(nil)) }.
func Classify(err error, requeueAfter time.Duration, terminal func(error) bool) Result {
	var t interface{ Terminal() bool }
	switch {
	case err == nil && requeueAfter > 0:
		return RequeueAfter
	case err == nil:
		return Success
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.As(err, &t) && t.Terminal(), terminal != nil && terminal(err):
		return TerminalError
	}
	return Error
}
