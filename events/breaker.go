// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math/bits"
	"time"
)

const (
	firstPause   = 250 * time.Millisecond // after a failure of a namespace or of the server
	longestPause = 30 * time.Second
	window       = 64 // answers
)

// A breaker knows how the requests to a namespace, or to the server, have gone
// lately, and pauses them. Where all of them fail, the pause doubles. Where
// some succeed, the pause is as long as their share demands: a server that
// fails four of five requests gets one a second.
type breaker struct {
	failures uint64  // of the last answers, one bit each
	answers  int     // that the bits are about
	failing  bool    // the last answer was a failure
	failed   instant // when that was
	resume   instant // no request before it
}

func (b *breaker) add(failure uint64) {
	b.failures = b.failures<<1 | failure
	b.answers = min(b.answers+1, window)
	b.failing = failure > 0
}

func (b *breaker) succeed() { b.add(0) }

// fail counts the failure of a request that began at begun. Requests that were
// under way together make one failure.
func (b *breaker) fail(begun, now instant) {
	if b.failing && begun <= b.failed {
		return
	}
	b.add(1)
	b.failed = now
	b.resume = max(b.resume, now.add(b.pause()))
}

// succeeded returns how many of the last answers were not failures.
func (b *breaker) succeeded() int { return b.answers - bits.OnesCount64(b.failures) }

func (b *breaker) pause() time.Duration {
	succeeded := b.succeeded()
	failed := b.answers - succeeded
	pause := firstPause << min(failed-1, 16)
	if succeeded > 0 {
		pause = firstPause * time.Duration(failed) / time.Duration(succeeded)
	}
	return min(max(pause, firstPause), longestPause)
}

// forgive lets requests begin immediately.
func (b *breaker) forgive() { *b = breaker{} }
