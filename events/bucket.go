// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// A limit is how fast tokens come back to a bucket, and how many it holds.
type limit struct {
	rate  rate.Limit
	burst int
}

// perMinute is a true bound of n in any 60 seconds. A bucket of n tokens that refills n a minute lets 2n-1 through
// in its first minute; one of (n+2)/2 that refills n+1-(n+2)/2 lets n through in every one.
func perMinute(n int) limit {
	burst := (n + 2) / 2
	refill := n + 1 - burst
	// Rounded up: a token that comes a nanosecond late keeps the bound, one that comes early does not.
	return limit{rate.Every((time.Minute + time.Duration(refill) - 1) / time.Duration(refill)), burst}
}

// perSecond lets n through each second, after a burst of five seconds' worth.
func perSecond(n float64) limit {
	const fastest = 1e9 // one each nanosecond is as good as no limit
	n = min(n, fastest)
	return limit{rate.Limit(n), int(max(min(5*n, math.MaxInt32), 1))}
}

// A bucket holds tokens. It has to be filled before its first use. It is used under the Recorder's lock, by instants.
type bucket struct{ limiter rate.Limiter }

// fill makes b a full bucket.
func (b *bucket) fill(l limit) {
	// A limiter that was last used at the zero time has had the time to fill up.
	b.limiter.SetLimitAt(time.Time{}, l.rate)
	b.limiter.SetBurstAt(time.Time{}, l.burst)
}

// ready is the earliest instant from now on at which the bucket holds a token.
func (b *bucket) ready(now time.Duration) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	missing := 1 - b.limiter.TokensAt(clock(now))
	wait := missing / float64(b.limiter.Limit()) * float64(time.Second)
	if wait < 1 { // less than a nanosecond is the rounding of the limiter, which lets it pass
		return now
	}
	return now + time.Duration(min(math.Ceil(wait), float64(century)))
}

// take removes a token at now, which is no earlier than an instant at which ready was seen to be over.
func (b *bucket) take(now time.Duration) { b.limiter.AllowN(clock(now), 1) }

// full reports whether the bucket holds all it can.
func (b *bucket) full(now time.Duration) bool {
	return b.limiter.TokensAt(clock(now)) >= float64(b.limiter.Burst())
}

// clock makes an instant a time for the limiter, which only looks at the distance between two.
func clock(now time.Duration) time.Time { return time.Unix(0, int64(now)) }
