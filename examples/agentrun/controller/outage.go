// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/proompteng/controllerkit/events"
)

// comingUp is how long an API server that answers again may still lack roles or
// custom resources.
const comingUp = 15 * time.Second

// outage remembers when the API server last gave no answer. All runs then fail
// for the same reason, which is not their fault. The log, the conditions and
// the request metrics report it. An Event for each run would be written only
// after the outage.
type outage struct {
	last atomic.Int64 // in Unix nanoseconds
}

// explains reports whether the API server causes a failure, or may cause it
// because it has just started. A failure that lasts longer belongs to the run.
func (o *outage) explains(err error, now time.Time) bool {
	if unanswered(err) {
		o.last.Store(now.UnixNano())
		return true
	}
	if now.Sub(time.Unix(0, o.last.Load())) >= comingUp {
		return false
	}
	reason, _ := events.Classify(err)
	return reason == events.Forbidden || reason == events.Unavailable || reason == events.Timeout
}

// unanswered reports whether err is from a request without an answer. This
// controller sends requests only to the API server.
func unanswered(err error) bool {
	_, network := errors.AsType[net.Error](err) // every error of http.Client is one, and context.DeadlineExceeded
	return network
}
