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

// TestTurn_ConcernsOnlyTheState: after a change of state, the pauses of the
// other series of the object still grow.
func TestTurn_ConcernsOnlyTheState(t *testing.T) {
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
