// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/events"
)

// TestEveryLine_SaysWhatToFix: which permission to grant.
func TestEveryLine_SaysWhatToFix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(context.Context, request) error { return notGranted() }}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		for range 30 * 60 {
			rec.Failure(object("a"), errAway)
			time.Sleep(time.Second)
		}
		require.NoError(t, stop())
		assert.Equal(t, map[string]int64{events.LostForbidden: 30 * 60}, rec.Stats().Lost)
		assert.NotEmpty(t, log)
		for _, line := range log {
			assert.Contains(t, line, "events.events.k8s.io")
		}
	})
}

// TestLog_NamesAnObjectWhoseRequestAlwaysFails, although the namespace works.
func TestLog_NamesAnObjectWhoseRequestAlwaysFails(t *testing.T) {
	for _, failure := range []string{"500", "Denied", "Hangs"} {
		t.Run(failure, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{refuse: func(ctx context.Context, w request) error {
					if w.object == "bad" {
						return failures()[failure](ctx)
					}
					return nil
				}}
				rec, err := events.New(s.sink(), controller, events.Options{})
				require.NoError(t, err)
				var log lines
				stop := runLogged(t, rec, &log)
				rec.Failure(object("bad"), errAway)
				for i := range 60 {
					rec.Failure(object(fmt.Sprint("good-", i)), errAway)
					time.Sleep(time.Second)
				}
				synctest.Wait()
				assert.Contains(t, log.String(), "Could not write an event")
				require.NoError(t, stop())
			})
		})
	}
}

// TestLog_HasALineAMinuteForRequestsThatFail, after 15 seconds.
func TestLog_HasALineAMinuteForRequestsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var isDown atomic.Bool
		isDown.Store(true)
		s := &server{refuse: func(context.Context, request) error {
			if isDown.Load() {
				return unavailable()
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{Scheme: runtime.NewScheme()})
		require.NoError(t, err)
		var log lines
		stop := runLogged(t, rec, &log)
		linesAfter := func(d time.Duration) int {
			time.Sleep(d)
			synctest.Wait()
			defer rec.Stats() // its lock orders the reads of log before the next line
			return len(log)
		}
		rec.Failure(object("a"), errAway)
		assert.Zero(t, linesAfter(14*time.Second))
		assert.InDelta(t, 10, linesAfter(10*time.Minute), 1)
		isDown.Store(false)
		before := linesAfter(time.Minute)
		isDown.Store(true)
		rec.Failure(object("a"), invalid("another text"))
		assert.Equal(t, before, linesAfter(14*time.Second), "these requests have not failed for 15 seconds")
		_ = stop()
	})
}
