// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// elsewhere sets every variable and file that leads programs to a cluster. All
// lead to a server that must not be asked.
func elsewhere(t *testing.T) (asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ConnState = func(net.Conn, http.ConnState) { asked.Add(1) }
	other.Start()
	t.Cleanup(other.Close)

	if os.Getenv("CONTROLLERKIT_CACHE") == "" { // the cache is below HOME, and is not tested here
		dir, err := os.UserCacheDir()
		require.NoError(t, err)
		t.Setenv("CONTROLLERKIT_CACHE", filepath.Join(dir, "controllerkit"))
	}
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o700))
	kubeconfig := filepath.Join(home, ".kube", "config")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, &rest.Config{Host: other.URL}))
	host, port, err := net.SplitHostPort(other.Listener.Addr().String())
	require.NoError(t, err)
	for name, value := range map[string]string{
		"HOME":                       home,
		"KUBECONFIG":                 kubeconfig,
		"KUBERNETES_MASTER":          other.URL,
		"KUBERNETES_SERVICE_HOST":    host,
		"KUBERNETES_SERVICE_PORT":    port,
		"HTTPS_PROXY":                other.URL,
		"ETCD_LISTEN_CLIENT_URLS":    "http://0.0.0.0:1",
		"ETCD_DATA_DIR":              home,
		"ETCD_INITIAL_CLUSTER_STATE": "existing",
	} {
		t.Setenv(name, value)
	}
	return asked
}

func TestNoOtherClusterIsTouched(t *testing.T) {
	asked := elsewhere(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cp, err := controlplane.Start(ctx, controlplane.Options{})
	require.NoError(t, err)
	runJob(t, cp, "here")
	assert.Zero(t, asked.Load())

	pids := []int{cp.Etcd.Pid(), cp.APIServer.Pid(), cp.ControllerManager.Pid()}
	cancel() // ends everything, as Stop does
	eventually(t, "everything ends", func(c *assert.CollectT) {
		for _, pid := range pids {
			require.False(c, runs(t, pid))
		}
	})
	require.NoError(t, cp.Stop())
	assert.NoDirExists(t, cp.Dir(), "nothing failed, so nothing stays")
	assert.NoError(t, cp.Stop(), "again is fine")
}

func TestStartThatFailsSaysWhyAndKeepsTheLogs(t *testing.T) {
	var log bytes.Buffer
	_, err := controlplane.Start(t.Context(), controlplane.Options{
		Log: &log, APIServerArgs: []string{"--event-ttl=forever"},
	})
	require.ErrorContains(t, err, "kube-apiserver ended")
	require.ErrorContains(t, err, "kube-apiserver.log")
	require.ErrorContains(t, err, "--event-ttl", "the last lines of the log are in the error")
	assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 12, "and no others")
	_, dir, kept := strings.Cut(strings.TrimSpace(log.String()), "files kept in ")
	require.True(t, kept, log.String())
	assert.FileExists(t, filepath.Join(dir, "kube-apiserver.log"))
	require.NoError(t, os.RemoveAll(dir))
}
