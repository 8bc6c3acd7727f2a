// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheServersBreak: connections to the API server stay open without an
// answer, or it answers and can neither read nor write. TestRunsUnderKills
// kills it.
func TestTheServersBreak(t *testing.T) {
	for name, fault := range map[string]func(context.Context, *testing.T){
		"APIServerFrozen": func(ctx context.Context, t *testing.T) {
			t.Helper()
			require.NoError(t, plane.APIServer.Freeze())
			suite.Wait(ctx, either(30*time.Second, 3*time.Second))
			require.NoError(t, plane.APIServer.Thaw())
		},
		"EtcdRestarted": func(ctx context.Context, t *testing.T) {
			t.Helper()
			breakServer(ctx, t, plane.Etcd, either(3*time.Second, time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, w := steady(t)
			last := either(14, 9)
			w.during(ctx, t, last, 100*time.Millisecond, func() {
				suite.Wait(ctx, 500*time.Millisecond)
				fault(ctx, t)
			})
			require.NoError(t, plane.Ready(ctx))
			w.holds(ctx, t, last+1)
		})
	}
}
