// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// A limiter is a token bucket whose clock is the instants of a Recorder. Its
// lock is the lock of its rate.Limiter.
type limiter struct{ bucket *rate.Limiter }

// A limit is how many tokens a bucket holds, and how long one takes to come
// back.
type limit struct {
	burst    int
	interval time.Duration
}

// newLimiter returns a limiter that holds all its tokens.
func (l limit) newLimiter() limiter {
	return limiter{rate.NewLimiter(rate.Every(l.interval), l.burst)}
}

// perMinute is a true bound of n in any 60 seconds. A bucket of n tokens that
// refills n a minute lets 2n-1 through in its first minute; one of (n+2)/2 that
// refills n+1-(n+2)/2 lets n through in every one.
func perMinute(n int) limit {
	burst := (n + 2) / 2
	refill := time.Duration(n + 1 - burst)
	// rate counts in float64. A token that comes a microsecond late keeps the
	// bound where the sum is rounded.
	return limit{burst, (time.Minute+refill-1)/refill + time.Microsecond}
}

// perSecond lets n through each second, after a burst of that many seconds'
// worth.
func perSecond(n, seconds float64) limit {
	burst := max(min(n*seconds, 1e6), 1)
	// A nanosecond more: perMinute gives the reason. 95 years at most.
	interval := min(max(math.Ceil(1e9/n)+1, 1), 3e18)
	return limit{int(burst), time.Duration(interval)}
}

// ready returns the earliest instant from now on at which l holds a token.
func (l limiter) ready(now instant) instant { return l.holds(1, now) }

// fullAt returns the earliest instant from now on at which no token is missing.
func (l limiter) fullAt(now instant) instant { return l.holds(float64(l.bucket.Burst()), now) }

// take removes a token at now, which must not be before an earlier call. It may
// borrow a token that has not come back yet.
func (l limiter) take(now instant) { l.bucket.ReserveN(now.time(), 1) }

func (l limiter) holds(tokens float64, now instant) instant {
	missing := tokens - l.bucket.TokensAt(now.time())
	if missing <= 0 {
		return now
	}
	seconds := missing / float64(l.bucket.Limit())
	wait := time.Duration(seconds * float64(time.Second))
	// The quotient may be rounded down: a microsecond later the token is there.
	return now.add(wait + time.Microsecond)
}
