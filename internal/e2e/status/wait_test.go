// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wait sleeps for d of real time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// eventually waits for what takes the API server a moment.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		require.NoError(t, ctx.Err(), what)
		wait(ctx, 20*time.Millisecond)
	}
}
