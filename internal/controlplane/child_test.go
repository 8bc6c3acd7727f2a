// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// childVariable makes the test binary a process that starts a control plane and
// waits for its own death.
const childVariable = "CONTROLPLANE_TEST_CHILD"

// report is what the child says of itself, on standard output.
type report struct {
	Dir  string
	Pids []int
}

func beChild() {
	ctx := context.Background()
	cp, err := controlplane.Start(ctx, controlplane.Options{})
	if err == nil {
		err = cp.APIServer.Freeze() // a process that does not listen to signals must end, too
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pids := []int{cp.Etcd.Pid(), cp.APIServer.Pid(), cp.ControllerManager.Pid()}
	_ = json.NewEncoder(os.Stdout).Encode(report{cp.Dir(), pids})
	select {}
}

// TestNothingOutlivesThisProcess: SIGKILL leaves no time to clean up.
func TestNothingOutlivesThisProcess(t *testing.T) {
	temp, err := os.MkdirTemp("", "child-") //nolint:usetesting // t.TempDir() is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(temp)) })
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+temp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var child report
	require.NoError(t, json.NewDecoder(out).Decode(&child))
	for _, pid := range child.Pids {
		require.True(t, runs(t, pid))
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it dies of the signal")
	eventually(t, "everything ends", func(c *assert.CollectT) {
		for _, pid := range child.Pids {
			require.False(c, runs(t, pid))
		}
		require.NoDirExists(c, filepath.Join(child.Dir, "etcd"), "data of no use to anybody is removed")
	})
	assert.FileExists(t, filepath.Join(child.Dir, "kube-apiserver.log"), "logs may explain the death")
}

// runs reports whether the process exists and is not a zombie.
func runs(t *testing.T, pid int) bool {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output() // fails if there is none
	state := strings.TrimSpace(string(out))
	return state != "" && !strings.HasPrefix(state, "Z")
}
