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

// TestTheServersBreak: the API server or etcd fails for a while, etcd several
// times, under load. TestSoak kills the API server.
func TestTheServersBreak(t *testing.T) {
	cases := map[string]struct {
		reason string
		times  int
		fault  func(ctx context.Context, t *testing.T)
	}{
		"APIServerFrozen": {
			"Connections stay open without an answer.", 1,
			func(ctx context.Context, t *testing.T) {
				t.Helper()
				require.NoError(t, plane.APIServer.Freeze())
				suite.Wait(ctx, either(30*time.Second, 3*time.Second))
				require.NoError(t, plane.APIServer.Thaw())
			},
		},
		"EtcdRestarted": {
			"The API server answers but can neither read nor write.", either(5, 1),
			func(ctx context.Context, t *testing.T) {
				t.Helper()
				breakServer(ctx, t, plane.Etcd, either(3*time.Second, time.Second))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, w := steady(t, 5*time.Minute)
			last := 2 + either(12, 7)*tc.times
			w.during(ctx, t, last, 100*time.Millisecond, func() {
				for range tc.times {
					suite.Wait(ctx, 500*time.Millisecond)
					tc.fault(ctx, t)
				}
			})
			require.NoError(t, plane.Ready(ctx))
			w.holds(ctx, t, last+1)
		})
	}
}
