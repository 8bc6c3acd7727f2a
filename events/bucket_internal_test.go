// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Whoever asks, and however, no span of 60 seconds holds more than n; and a greedy caller gets n in each minute on average.
func TestNeverMoreThanNInAnyMinute(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 30, 60, 120, 6000} {
		for name, step := range map[string]func(*rand.Rand) time.Duration{
			"Greedy": func(*rand.Rand) time.Duration { return 5 * time.Millisecond },
			"Bursts": func(r *rand.Rand) time.Duration {
				if r.IntN(100) == 0 {
					return time.Duration(r.Int64N(int64(3 * time.Minute)))
				}
				return 0
			},
			"Random": func(r *rand.Rand) time.Duration {
				return time.Duration(r.Int64N(int64(2 * time.Minute / time.Duration(n))))
			},
		} {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			var b bucket
			b.fill(perMinute(n))
			var taken []time.Duration
			for now := time.Duration(0); len(taken) < n+min(n, 500)+100; now += step(random) {
				for b.ready(now) <= now {
					b.take(now)
					taken = append(taken, now)
				}
			}
			for i := n; i < len(taken); i++ {
				if !assert.GreaterOrEqual(t, taken[i]-taken[i-n], time.Minute, "%s, %d a minute, write %d", name, n, i) {
					return
				}
			}
			if name == "Greedy" {
				minutes := taken[len(taken)-1].Minutes()
				assert.GreaterOrEqual(t, float64(len(taken)), minutes*float64(n)/2, "%d a minute", n)
			}
		}
	}
}

// A write takes its time. Charged when it ends, and checked before it begins, the bound holds at whatever moment in between
// the server counts it.
func TestTheCapHoldsHoweverLongAWriteTakes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{1, 2, 5, 10} {
		var b bucket
		b.fill(perMinute(n))
		var counted []time.Duration
		now := time.Duration(0)
		for len(counted) < 2000 {
			now = b.ready(now)
			begun := now
			now += time.Duration(random.Int64N(int64(20 * time.Second)))
			counted = append(counted, begun+time.Duration(random.Int64N(int64(now-begun)+1)))
			b.take(now)
		}
		for i := n; i < len(counted); i++ {
			if !assert.GreaterOrEqual(t, counted[i]-counted[i-n], time.Minute, "%d a minute, write %d", n, i) {
				return
			}
		}
	}
}

func TestPerSecond(t *testing.T) {
	for _, rate := range []float64{1e-300, 1e-12, 0.01, 0.5, 1, 20, 1000, 1e12, math.Inf(1)} {
		var b bucket
		b.fill(perSecond(rate))
		n := 0
		for now := time.Duration(0); now <= time.Minute; now += 100 * time.Millisecond {
			for n < 100_000 && b.ready(now) <= now {
				b.take(now)
				n++
			}
		}
		assert.LessOrEqual(t, float64(n), max(65*rate, 1)+1, "%v a second", rate)
	}
}
