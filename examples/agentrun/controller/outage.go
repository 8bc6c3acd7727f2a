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

// comingUp is how long an API server that answers again may still know no roles, or serve no custom resources.
const comingUp = 15 * time.Second

// outage remembers when the API server last gave no answer. All runs that are looked at then fail alike, which is one fault and none of
// theirs: the log, the conditions and the metrics of requests tell of it, and an event of each run would only be written once it is over.
type outage struct {
	last atomic.Int64 // in Unix nanoseconds
}

// explains reports whether a failure is the API server's, or may be because it has just come up. What lasts beyond that is the run's.
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

// unanswered reports whether err is of a request that nobody answered. Nothing but the API server is asked here.
func unanswered(err error) bool {
	_, network := errors.AsType[net.Error](err) // every error of http.Client is one, and context.DeadlineExceeded
	return network
}
