// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync/atomic"
	"time"
)

const (
	// startingTime is how long an API server refuses valid requests after its
	// start, at most.
	startingTime = 10 * time.Second

	// outagePause is how long no attempt begins if outageAttempts in a row have
	// failed because the API server is away or starting.
	outagePause    = time.Second
	outageAttempts = 4
)

// outage is what the attempts at all runs learn about the API server. One that
// is away or starting fails them all, so a few find out, and the other runs
// wait. Otherwise each run would try, and most requests of the first moments
// would be refused. A server that fails only some requests makes no run wait.
type outage struct {
	away   atomic.Int64 // when the API server was away, in nanoseconds
	failed atomic.Int64 // attempts since one was successful
	paused atomic.Int64 // until when no attempt begins
}

// wasAway notes that the API server is away.
func (o *outage) wasAway() { o.away.Store(time.Now().UnixNano()) }

// mayStart reports whether the API server was away a moment ago.
func (o *outage) mayStart() bool { return since(&o.away) < startingTime }

// fail notes an attempt that failed because of the outage.
func (o *outage) fail() {
	if o.failed.Add(1) >= outageAttempts {
		o.paused.Store(time.Now().Add(outagePause).UnixNano())
	}
}

// succeed notes a successful attempt.
func (o *outage) succeed() { o.failed.Store(0) }

// left is the rest of the pause. It is zero or less without one.
func (o *outage) left() time.Duration { return -since(&o.paused) }

func since(at *atomic.Int64) time.Duration { return time.Since(time.Unix(0, at.Load())) }
