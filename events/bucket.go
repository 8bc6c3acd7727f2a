// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"time"
)

// An instant is a point in time in the life of a Recorder, in nanoseconds of
// the monotonic clock. Zero is before the Recorder was made.
type instant int64

// never is after the end of every Recorder.
const never instant = math.MaxInt64

// add returns t plus d, and never where that is too large.
func (t instant) add(d time.Duration) instant {
	if d > 0 && t > never-instant(d) {
		return never
	}
	return t + instant(d)
}

// since returns the time that passed from u to t.
func (t instant) since(u instant) time.Duration { return time.Duration(t - u) }

// A limit is how many tokens a bucket holds, and how long one takes to come
// back.
type limit struct {
	burst    int
	interval time.Duration
}

// perMinute is a true bound of n in any 60 seconds. A bucket of n tokens that
// refills n a minute lets 2n-1 through in its first minute; one of (n+2)/2 that
// refills n+1-(n+2)/2 lets n through in every one.
func perMinute(n int) limit {
	burst := (n + 2) / 2
	refill := time.Duration(n + 1 - burst)
	// Rounded up: a token that comes a nanosecond late keeps the bound.
	return limit{burst, (time.Minute + refill - 1) / refill}
}

// perSecond lets n through each second, after a burst of that many seconds'
// worth.
func perSecond(n, seconds float64) limit {
	return limit{int(max(min(n*seconds, 1e6), 1)), time.Duration(min(max(math.Ceil(1e9/n), 1), 3e18))} // 95 years at most
}

// A bucket holds tokens. It stores the instant at which it is full again, so
// the zero bucket is full.
type bucket instant

// ready returns the earliest instant from now on at which b holds a token.
func (b *bucket) ready(l limit, now instant) instant {
	return max(now, instant(*b)-instant(l.burst-1)*instant(l.interval))
}

// take removes a token at now.
func (b *bucket) take(l limit, now instant) {
	*b = bucket(max(instant(*b), now).add(l.interval))
}

// full reports whether no token is missing.
func (b *bucket) full(now instant) bool { return instant(*b) <= now }
