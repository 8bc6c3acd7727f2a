// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheWatchesAreCut cuts watches in the middle of an event, and every fourth
// time the connection too.
func TestTheWatchesAreCut(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	last := either(122, 17)
	w.during(ctx, t, last, either(200*time.Millisecond, 100*time.Millisecond), func() {
		for i := range either(50, 8) {
			suite.Wait(ctx, either(500*time.Millisecond, 250*time.Millisecond))
			if i%4 == 3 {
				between.server.CloseClientConnections()
			} else {
				between.cut()
			}
		}
	})
	w.holds(ctx, t, last+1)
	_, cuts := between.did()
	assert.Greater(t, cuts, either(10, 1))
}

// TestATenthOfTheRequestsFails: requests fail with 409, 429, 500 or 503, or
// succeed and lose their answer. The errors quote the secret.
//
//req:shows E5
func TestATenthOfTheRequestsFails(t *testing.T) {
	t.Parallel()
	ctx, w, between := behindProxy(t)
	between.behave(failing(10, "env AGENT_SECRET="+firstSecret))
	last := either(202, 26)
	w.during(ctx, t, last, 50*time.Millisecond, func() {})
	w.holds(ctx, t, last+1)
	hit, _ := between.did()
	assert.Greater(t, hit, last/4)
	w.assertSays(t, "injected", "Reconcile failed") // the errors are in the log, without the secret
}
