// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For any callers, no span of 60 seconds has more than n writes. A caller that
// asks all the time gets n in each minute on average.
//
//req:shows E2
func TestCap_NeverMoreThanNInAnyMinute(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 13, 30, 60, 120, 6000} {
		for name, step := range callers(n) {
			l := perMinute(n).newLimiter()
			var taken []instant
			for now := instant(1); len(taken) < n+min(n, 500)+100; now = now.add(step(l, now)) {
				for l.ready(now) <= now {
					l.take(now)
					taken = append(taken, now)
				}
			}
			requireCap(t, taken, n, name)
			if name == "Greedy" {
				minutes := taken[len(taken)-1].since(0).Minutes()
				assert.GreaterOrEqual(t, float64(len(taken)), minutes*float64(n)/2, "%d a minute", n)
			}
		}
	}
}

// callers return how long each kind of caller waits before it asks again.
func callers(n int) map[string]func(l limiter, now instant) time.Duration {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	return map[string]func(limiter, instant) time.Duration{
		"Greedy":  func(limiter, instant) time.Duration { return 5 * time.Millisecond },
		"Waiting": func(l limiter, now instant) time.Duration { return l.ready(now).since(now) },
		"Bursts": func(limiter, instant) time.Duration {
			if random.IntN(100) == 0 {
				return time.Duration(random.Int64N(int64(3 * time.Minute)))
			}
			return 0
		},
		"Random": func(limiter, instant) time.Duration {
			return time.Duration(random.Int64N(int64(2 * time.Minute / time.Duration(n))))
		},
	}
}

// requireCap fails if a minute has more than n of the writes.
func requireCap(t *testing.T, writes []instant, n int, caller string) {
	t.Helper()
	for i := n; i < len(writes); i++ {
		require.GreaterOrEqual(t, writes[i].since(writes[i-n]), time.Minute, "%s, %d a minute, write %d", caller, n, i)
	}
}

// A write takes time. The bucket is checked before a write begins and charged
// when it ends. The cap holds at every moment between them.
func TestCap_HoldsHoweverLongAWriteTakes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{1, 2, 5, 10} {
		l := perMinute(n).newLimiter()
		var counted []instant
		now := instant(1)
		for len(counted) < 2000 {
			now = l.ready(now)
			begun := now
			now = now.add(time.Duration(random.Int64N(int64(20 * time.Second))))
			counted = append(counted, begun.add(time.Duration(random.Int64N(int64(now-begun)+1))))
			l.take(now)
		}
		requireCap(t, counted, n, "slow writes")
	}
}

func TestPerSecond(t *testing.T) {
	for _, rate := range []float64{1e-300, 1e-12, 0.01, 0.5, 1, 20, 1000, 1e12, math.Inf(1)} {
		l := perSecond(rate, 5).newLimiter()
		n := 0
		for now := instant(1); now.since(0) <= time.Minute; now = now.add(100 * time.Millisecond) {
			for n < 100_000 && l.ready(now) <= now {
				l.take(now)
				n++
			}
		}
		assert.LessOrEqual(t, float64(n), max(65*rate, 1)+1, "%v a second", rate)
	}
}
