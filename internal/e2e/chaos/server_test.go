// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// TestTheServersBreak: the API server or etcd fails for a while, several times,
// under load.
func TestTheServersBreak(t *testing.T) {
	restart := func(of func() *controlplane.Process, gone time.Duration) func(ctx context.Context, t *testing.T) {
		return func(ctx context.Context, t *testing.T) {
			t.Helper()
			require.NoError(t, of().Kill())
			wait(ctx, gone)
			require.NoError(t, of().Start(ctx))
		}
	}
	cases := map[string]struct {
		reason string
		times  int
		fault  func(ctx context.Context, t *testing.T)
	}{
		"APIServerKilled": {
			"Requests end in the middle, and the last answers are unknown.", either(5, 1),
			restart(func() *controlplane.Process { return plane.APIServer }, either(3*time.Second, time.Second)),
		},
		"APIServerFrozen": {
			"Connections stay open without an answer.", 1,
			func(ctx context.Context, t *testing.T) {
				t.Helper()
				require.NoError(t, plane.APIServer.Freeze())
				wait(ctx, either(30*time.Second, 3*time.Second))
				require.NoError(t, plane.APIServer.Thaw())
			},
		},
		"EtcdRestarted": {
			"The API server answers but can neither read nor write.", either(5, 1),
			restart(func() *controlplane.Process { return plane.Etcd }, either(3*time.Second, time.Second)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t)
			w.grant(t, role)
			w.start(t, w.config)
			w.ready(ctx, t)
			last := 2 + either(12, 7)*tc.times
			w.during(ctx, t, last, 100*time.Millisecond, func() {
				for range tc.times {
					wait(ctx, 500*time.Millisecond)
					tc.fault(ctx, t)
				}
			})
			require.NoError(t, plane.Ready(ctx))
			w.holds(ctx, t, last+1)
		})
	}
}
