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
