// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// TestHasten_ConcernsOnlyTheState: after a change of state, the pauses of the
// other series of the object still grow.
func TestHasten_ConcernsOnlyTheState(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		flip   bool
	}{
		"Step":           {"By a recovery neither.", true},
		events.Recovered: {"Nor is a series that only has the name of a recovery, where none was.", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{WritesPerMinute: 60})
				for i := range 600 {
					rec.Eventf(object("a"), nil, "Normal", name, "Run", "again")
					if tc.flip && i%10 == 0 {
						rec.Failure(object("a"), errAway)
						rec.Failure(object("a"), nil)
					}
					time.Sleep(time.Second)
				}
				n := s.count(func(w request) bool { return w.reason == name })
				assert.LessOrEqual(t, n, 11, tc.reason) // pauses of 1, 2, 4 ... 512 s
			})
		})
	}
}

// TestSeries_DoesNotWaitForAnother of the same object whose pauses have grown.
func TestSeries_DoesNotWaitForAnother(t *testing.T) {
	for name, older := range map[string]bool{"Older": true, "Younger": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				rec, _ := start(t, s, events.Options{WritesPerMinute: 60})
				record := func(reason string) { rec.Eventf(object("a"), nil, "Normal", reason, "Run", "") }
				if older {
					record("Quick")
				}
				for range 300 { // its pause is 256 s then
					record("Slow")
					time.Sleep(time.Second)
				}
				began := time.Now()
				for range 2 {
					record("Quick")
					synctest.Wait()
				}
				time.Sleep(3 * time.Minute)
				writes := s.asked()
				last := writes[len(writes)-1]
				assert.Equal(t, [...]string{"patch", "Quick"}, [...]string{last.verb, last.reason})
				assert.LessOrEqual(t, last.at.Sub(began), 5*time.Second)
			})
		})
	}
}

// TestOptions_TakeTheLongestDurations: a caller may want no limit.
func TestOptions_TakeTheLongestDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec, stop := start(t, s, events.Options{DrainTimeout: math.MaxInt64})
		for range 3600 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		assert.Len(t, s.all(), 1)
		assert.Less(t, len(s.asked()), 12)
		require.NoError(t, stop())
		require.NotNil(t, s.all()[0].Series)
		assert.Equal(t, int32(3600), s.all()[0].Series.Count, "the grace is for as long as the count takes")
	})
}
