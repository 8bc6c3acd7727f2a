// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package controlplane

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAwaitStopped(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	require.NoError(t, cmd.Start())
	answer := make(chan error, 1)
	go func() { answer <- awaitStopped(cmd.Process.Pid) }()
	select {
	case err := <-answer:
		require.ErrorContains(t, err, "did not stop", "as after a Thaw")
	case <-time.After(2 * stopping):
		assert.Fail(t, "it waits although the child runs")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, awaitStopped(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, awaitStopped(cmd.Process.Pid), "it is gone")
}
