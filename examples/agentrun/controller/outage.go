// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
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

// outage is what the attempts at all runs learn about the API server. If it is
// away or starting, they all fail, so a few find out, and the workers pause.
// Otherwise each run would try, and most requests of the first moments would be
// refused. What fails in one namespace alone pauses no worker, unless there is
// no other.
type outage struct {
	single bool // there is only one namespace

	mu      sync.Mutex
	away    time.Time // when the API server was away
	failed  int       // attempts in a row
	where   string    // the namespace of the first of them
	spreads bool      // another one was in another namespace, or there is only one
	paused  time.Time // until when no attempt begins
}

// wasAway notes that the API server is away.
func (o *outage) wasAway() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = time.Now()
}

// mayStart reports whether the API server was away a moment ago.
func (o *outage) mayStart() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.away) < startingTime
}

// fail notes an attempt at a run of a namespace that failed because the API
// server is away or starting.
func (o *outage) fail(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == 0 {
		o.where = namespace
		o.spreads = o.single
	}
	o.failed++
	if namespace != o.where {
		o.spreads = true
	}
	if o.failed >= outageAttempts && o.spreads {
		o.paused = time.Now().Add(outagePause)
	}
}

// end notes an attempt that did not fail so. Most of them had an answer of the
// API server.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = 0
}

// left is the rest of the pause. It is zero or less without one.
func (o *outage) left() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Until(o.paused)
}

// wait returns when there is no pause, or ctx ends.
func (o *outage) wait(ctx context.Context) {
	for left := o.left(); left > 0; left = o.left() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}
