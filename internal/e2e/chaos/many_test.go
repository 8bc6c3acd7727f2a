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
	n := 300
	if *full || *tableFile != "" {
		n = 5000
	}
	ctx, w := steady(t, 25*time.Minute)
	began := time.Now()
	workqueue.ParallelizeUntil(ctx, 8, n-3, func(i int) {
		_, err := suite.Create(ctx, w.Stage, newRun(i+3))
		assert.NoError(t, err)
	})
	created := time.Since(began)
	for {
		_, ended, _ := w.recorder.Count()
		if ended >= n {
			break
		}
		require.NoError(t, ctx.Err(), "%d of %d runs have ended", ended, n)
		suite.Wait(ctx, time.Second)
	}
	t.Logf("%d runs were created in %s and ended in %s", n, created.Round(time.Second), time.Since(began).Round(time.Second))
	w.holds(ctx, t, n)
}
