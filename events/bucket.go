// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"time"
)

// A limit is a token bucket in units of time: one token each interval, and slack is what the others of a full bucket are worth.
type limit struct {
	interval, slack time.Duration
}

// perMinute is a true bound of n in any 60 seconds. A bucket of n tokens that refills n a minute lets 2n-1 through
// in its first minute; one of (n+2)/2 that refills n+1-(n+2)/2 lets n through in every one.
func perMinute(n int) limit {
	burst := (n + 2) / 2
	refill := n + 1 - burst
	// Rounded up: a token that comes a nanosecond late keeps the bound, one that comes early does not.
	interval := (time.Minute + time.Duration(refill) - 1) / time.Duration(refill)
	return limit{interval: interval, slack: time.Duration(burst-1) * interval}
}

// perSecond lets rate through each second, after a burst of five seconds' worth.
func perSecond(rate float64) limit {
	const century = 100 * 365 * 24 * time.Hour
	interval := time.Duration(max(min(float64(time.Second)/rate, float64(century)), 1))
	burst := max(min(5*rate, math.MaxInt32), 1)
	return limit{interval: interval, slack: time.Duration(burst-1) * interval}
}

// A bucket is the instant at which it is full again: the zero bucket is full. It must not be used with two limits.
type bucket time.Duration

// ready is the earliest instant at which the bucket holds a token; it may lie in the past.
func (b bucket) ready(l limit) time.Duration { return time.Duration(b) - l.slack }

// take is the bucket without a token at now, which the caller has seen to be no earlier than ready.
func (b bucket) take(l limit, now time.Duration) bucket {
	return bucket(max(time.Duration(b), now) + l.interval)
}
