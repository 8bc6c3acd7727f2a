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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// shared is the control plane of all tests that do not break it. Each test uses
// a separate namespace.
var shared struct {
	once sync.Once
	cp   *controlplane.ControlPlane
	err  error
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		beChild()
		return
	}
	code := m.Run()
	if shared.cp != nil {
		if code != 0 {
			shared.cp.Keep()
		}
		if err := shared.cp.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// start returns the shared control plane and a client with all rights.
func start(t *testing.T) (*controlplane.ControlPlane, kubernetes.Interface) {
	t.Helper()
	shared.once.Do(func() {
		shared.cp, shared.err = controlplane.Start(context.WithoutCancel(t.Context()), controlplane.Options{Log: os.Stderr})
	})
	require.NoError(t, shared.err)
	return shared.cp, clientOf(t, shared.cp)
}

func clientOf(t *testing.T, cp *controlplane.ControlPlane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	require.NoError(t, err)
	return client
}

// namespace creates a namespace for one test.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return ns.Name
}

// eventually waits until check holds.
func eventually(t *testing.T, what string, check func(c *assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, check, time.Minute, 20*time.Millisecond, what)
}

func TestProgramsCarryTheirRealVersion(t *testing.T) {
	cp, client := start(t)
	minor := cmp.Or(os.Getenv("CONTROLLERKIT_KUBERNETES"), "1.36")
	want := map[string]string{"1.34": "v1.34.4", "1.35": "v1.35.0", "1.36": "v1.36.3"}[minor]
	version, err := client.Discovery().ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, want, version.GitVersion)
	assert.Equal(t, minor, version.Major+"."+version.Minor)

	out := kubectl(t, cp, "version")
	assert.Contains(t, out, "Client Version: "+want)
	assert.Contains(t, out, "Server Version: "+want)

	programs, err := build.Ensure(t.Context(), build.Options{})
	require.NoError(t, err)
	manager, err := exec.CommandContext(t.Context(), programs[build.ControllerManager], "--version").CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, "Kubernetes "+want+"\n", string(manager))
	etcd, err := exec.CommandContext(t.Context(), programs[build.Etcd], "--version").CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(etcd), "3.6.8")
}

// kubectl runs it with the kubeconfig file.
func kubectl(t *testing.T, cp *controlplane.ControlPlane, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cp.Kubectl(), append([]string{"--kubeconfig", cp.Kubeconfig()}, args...)...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	cp, _ := start(t)
	assert.True(t, strings.HasPrefix(cp.Config().Host, "https://127.0.0.1:"), cp.Config().Host)
	for _, socket := range []string{"etcd.sock", "etcd-peer.sock:0"} {
		info, err := os.Stat(filepath.Join(cp.Dir(), socket))
		require.NoError(t, err, "etcd serves on sockets in the directory, on no port")
		assert.NotZero(t, info.Mode()&os.ModeSocket)
	}
	info, err := os.Stat(cp.Dir())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "other users must not reach the sockets and the keys")
}

func TestConfigIsAFreshCopy(t *testing.T) {
	cp, _ := start(t)
	cp.Config().Host = "https://example.com"
	assert.NotEqual(t, "https://example.com", cp.Config().Host)
}
