// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/events"
)

// A cancelled reconcile has no result for its object. It is counted, but does
// not open or end a failure.
func TestCancelledReconcile_IsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		rec, stop := start(t, s, events.Options{})
		gone := fmt.Errorf("watch: %w", context.Canceled)
		rec.Failure(object("a"), gone)
		rec.Failure(object("a"), nil)
		synctest.Wait()
		assert.Empty(t, s.all(), "nothing was open")
		rec.Failure(object("a"), errors.New("broken"))
		rec.FailureReason(object("a"), "Stopped", gone)
		synctest.Wait()
		assert.Len(t, s.all(), 1)
		rec.Failure(object("a"), nil)
		require.NoError(t, stop())
		st := rec.Stats()
		assert.Equal(t, [2]int64{4, 2}, [2]int64{st.Recorded, st.Written}, "the failure and the recovery are written")
	})
}

// TestFailure_AmongCancelledOnesIsWritten: one of several concurrent steps fails,
// and the others are cancelled for that reason.
func TestFailure_AmongCancelledOnesIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		rec, stop := start(t, s, events.Options{})
		rec.Failure(object("a"), errors.Join(fmt.Errorf("step 1: %w", context.Canceled), notGranted()))
		rec.Failure(object("b"), errors.Join(context.Canceled, fmt.Errorf("step 2: %w", context.Canceled)))
		require.NoError(t, stop())
		require.Len(t, s.all(), 1)
		assert.Equal(t, events.Forbidden, s.all()[0].Reason)
		assert.Equal(t, int64(2), rec.Stats().Recorded)
	})
}
