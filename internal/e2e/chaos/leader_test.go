// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestTheLeaderIsFrozen for longer than its lease. A standby leads and works.
// When the old leader goes on, it ends by itself.
func TestTheLeaderIsFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grant(t)
	for _, args := range [][]string{
		{"role", "leader", "--verb=create,get,update", "--resource=leases.coordination.k8s.io"},
		{"rolebinding", "leader", "--user=" + w.user, "--role=leader"},
	} {
		_, err := plane.Admin.Run(t.Context(), nil, append([]string{"--namespace=" + w.Namespace, "create"}, args...)...)
		require.NoError(t, err)
	}
	elected := []string{"--leader-elect", "--leader-elect-lease-namespace=" + w.Namespace}
	w.start(t, w.config, elected...)
	ctx := w.ready(t, 5*time.Minute)
	frozen := w.process
	w.process = plane.Start(t, w.Stage, suite.Controller{Name: "standby", User: w.config, Args: elected})
	w.args = nil // of a fresh controller, which needs no lease to work
	w.before = w.read(t)
	const last = 32
	w.during(ctx, t, last, 300*time.Millisecond, func() {
		suite.Wait(ctx, time.Second)
		require.NoError(t, syscall.Kill(frozen.PID(), syscall.SIGSTOP))
		w.leads(t, w.process)
		suite.Wait(ctx, time.Second)
		require.NoError(t, syscall.Kill(frozen.PID(), syscall.SIGCONT))
		require.EqualError(t, frozen.Wait(ctx), "exit status 1")
	})
	w.holds(ctx, t, last+1)
}

// leads waits until a process leads.
func (w *world) leads(t *testing.T, p *rig.Process) {
	t.Helper()
	suite.Eventually(t, "it leads", func(ctx context.Context) bool {
		n, err := p.Value(ctx, "controller_leader", nil)
		return err == nil && n == 1
	})
}
