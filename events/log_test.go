// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// Flush has no logger. What it meets before Start runs is still logged by Start.
func TestAFlushBeforeStartSwallowsNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(_ context.Context, w request) error {
			if w.group != "" {
				return notGranted()
			}
			return nil
		}}
		rec, err := events.New(s.sink(), controller, events.Options{})
		require.NoError(t, err)
		rec.Failure(object("a"), errAway)
		rec.Failure(nil, errAway)
		require.Error(t, rec.Flush(t.Context()))
		var log lines
		stop := runLogged(t, rec, &log)
		synctest.Wait()
		assert.Contains(t, log.String(), "events.events.k8s.io", "why the other group is written")
		assert.Contains(t, log.String(), events.LostNoReference, "and what was lost")
		assert.Len(t, log, 2)
		_ = stop()
		assert.Len(t, log, 2, "each once")
	})
}

// An Event that is refused for good is not sent at each occurrence, but each line of the log says what to mend.
func TestEveryLineSaysWhatToMend(t *testing.T) {
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
		err = stop()
		requireLost(t, err, map[string]int64{events.LostForbidden: 30 * 60})
		require.ErrorContains(t, err, "events.events.k8s.io")
		assert.Greater(t, len(log), 25, "one line a minute")
		for _, line := range log {
			assert.Contains(t, line, "events.events.k8s.io")
		}
	})
}
