// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// Classify maps what a reconciler returned to a [Result].
//
// Without an error it is [RequeueAfter] when requeueAfter is positive and [Success] otherwise. Whether an error is a
// [TerminalError] is said by the first error in its chain that has a method Terminal() bool, else by terminal. Of the
// others, one that wraps [context.DeadlineExceeded] is [Timeout], one that wraps [context.Canceled] is [Canceled], and the
// rest, a nil pointer in err among it, is [Error].
//
// terminal may be nil. It is where API errors that no retry mends come in, since this package imports no Kubernetes code:
// events.Terminal fits as it is.
func Classify(err error, requeueAfter time.Duration, terminal func(error) bool) Result {
	switch {
	case err == nil && requeueAfter > 0:
		return RequeueAfter
	case err == nil:
		return Success
	case absent(err):
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
	own, ok := errors.AsType[interface {
		error
		Terminal() bool
	}](err)
	if ok && !absent(own) {
		return own.Terminal()
	}
	return terminal != nil && terminal(err)
}

// absent reports whether v is nil or holds a nil pointer, whose methods would panic.
func absent(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
