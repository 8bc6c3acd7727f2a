// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestManyRunsAtOnce: thousands of runs are created as fast as the API server
// accepts them.
func TestManyRunsAtOnce(t *testing.T) {
	n := either(5000, 300)
	ctx, w := steady(t)
	workqueue.ParallelizeUntil(ctx, 8, n-3, func(i int) {
		_, err := suite.Create(ctx, w.Stage, newRun(i+3))
		assert.NoError(t, err)
	})
	for w.recorder.Ended() < n {
		require.NoError(t, ctx.Err(), "%d of %d runs have ended", w.recorder.Ended(), n)
		suite.Wait(ctx, time.Second)
	}
	w.holds(ctx, t, n)
}
