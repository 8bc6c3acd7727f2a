// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// shared is the control plane of all tests that leave it ready.
var shared *controlplane.ControlPlane

var startShared = sync.OnceValue(func() (err error) {
	shared, err = controlplane.Start(context.Background(), controlplane.Options{Log: os.Stderr})
	return err
})

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		beChild()
		return
	}
	code := m.Run()
	if shared != nil {
		if code != 0 {
			shared.Keep()
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// start returns the shared control plane.
func start(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	require.NoError(t, startShared())
	return shared
}

// kubectl runs it with the kubeconfig file, and returns what it prints.
func kubectl(t *testing.T, cp *controlplane.ControlPlane, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cp.Kubectl(), append([]string{"--kubeconfig", cp.Kubeconfig()}, args...)...)
	cmd.Env = []string{"HOME=" + cp.Dir()}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// runJob runs a Job until it is complete.
func runJob(t *testing.T, cp *controlplane.ControlPlane, name string) {
	t.Helper()
	kubectl(t, cp, "create", "job", name, "--image=none")
	kubectl(t, cp, "wait", "--for=condition=complete", "--timeout=1m", "job/"+name)
}

// eventually waits until check holds.
func eventually(t *testing.T, what string, check func(c *assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, check, time.Minute, 20*time.Millisecond, what)
}

func TestProgramsCarryTheirRealVersion(t *testing.T) {
	cp := start(t)
	minor := cmp.Or(os.Getenv("CONTROLLERKIT_KUBERNETES"), "1.36")
	want := map[string]string{"1.34": "v1.34.4", "1.35": "v1.35.0", "1.36": "v1.36.3"}[minor]
	assert.Contains(t, kubectl(t, cp, "get", "--raw=/version"), `"minor": "`+strings.TrimPrefix(minor, "1.")+`"`)
	out := kubectl(t, cp, "version")
	assert.Contains(t, out, "Client Version: "+want)
	assert.Contains(t, out, "Server Version: "+want)

	programs, err := build.Ensure(t.Context(), build.Options{})
	require.NoError(t, err)
	for program, version := range map[string]string{build.ControllerManager: "Kubernetes " + want, build.Etcd: "3.6.8"} {
		out, err := exec.CommandContext(t.Context(), programs[program], "--version").CombinedOutput()
		require.NoError(t, err)
		assert.Contains(t, string(out), version)
	}
}

func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	cp := start(t)
	assert.True(t, strings.HasPrefix(cp.Config().Host, "https://127.0.0.1:"), cp.Config().Host)
	for _, socket := range []string{"etcd.sock", "etcd-peer.sock:0"} {
		info, err := os.Stat(filepath.Join(cp.Dir(), socket))
		require.NoError(t, err, "etcd serves on sockets in the directory, on no port")
		assert.NotZero(t, info.Mode()&os.ModeSocket)
	}
	for path, want := range map[string]os.FileMode{cp.Dir(): 0o700, cp.Kubeconfig(): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), "other users must not reach the sockets and the keys")
	}
}
