// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

func TestStoppedProcessesComeBackWithTheirData(t *testing.T) {
	cp := start(t)
	for name, tc := range map[string]struct {
		reason  string
		process *controlplane.Process
		end     func(*controlplane.Process) error
	}{
		"api-server-stopped": {"An orderly end loses nothing.", cp.APIServer, (*controlplane.Process).Stop},
		"etcd-killed":        {"Without fsync the data still outlives the process.", cp.Etcd, (*controlplane.Process).Kill},
		"controller-manager-frozen": {"A frozen process can be ended.", cp.ControllerManager, func(p *controlplane.Process) error {
			return errors.Join(p.Freeze(), p.Stop())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kubectl(t, cp, "create", "configmap", name)
			require.NoError(t, tc.end(tc.process))
			assert.Zero(t, tc.process.Pid(), tc.reason)
			require.ErrorContains(t, cp.Ready(t.Context()), tc.process.Name(), tc.reason)
			require.NoError(t, tc.end(tc.process), "ending it again does nothing")

			require.NoError(t, tc.process.Start(t.Context()), tc.reason)
			require.Error(t, tc.process.Start(t.Context()), "a running process is not started twice")
			require.NoError(t, cp.Ready(t.Context()), tc.reason)
			kubectl(t, cp, "get", "configmap", name)
			runJob(t, cp, name) // controllers and kubelet have come back, too
		})
	}
}

func TestFrozenAPIServerAnswersNothingUntilItThaws(t *testing.T) {
	cp := start(t)
	require.NoError(t, cp.APIServer.Freeze())
	t.Cleanup(func() { assert.NoError(t, cp.APIServer.Thaw()) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, cp.APIServer.Ready(ctx), context.DeadlineExceeded)
	require.NoError(t, cp.APIServer.Thaw())
	require.NoError(t, cp.Ready(t.Context()))
}
