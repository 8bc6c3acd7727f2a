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
