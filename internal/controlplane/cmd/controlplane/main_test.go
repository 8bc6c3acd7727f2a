// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"cmp"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// TestTheProgram: the printed lines work in a bare shell. Everything listens on
// the loopback or on a socket of the owner, no other cluster is asked, and
// nothing outlives the program.
func TestTheProgram(t *testing.T) {
	dir, err := os.MkdirTemp("", "it's-") //nolint:usetesting // a quote in the path, for the lines; t.TempDir() is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so that nothing is compiled twice
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	env, asked := elsewhere(t)

	for name, tc := range map[string]struct {
		reason string
		signal syscall.Signal
		frozen string // the program that does not listen to signals
		logs   int    // that stay
	}{
		"SIGTERM": {"Nothing failed, so nothing stays.", syscall.SIGTERM, "none", 0},
		"SIGKILL": {
			"Nothing cleans up, so the guard removes the data. Logs may explain the death.",
			syscall.SIGKILL, "kube-apiserver", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			temp := filepath.Join(dir, name)
			require.NoError(t, os.Mkdir(temp, 0o755))
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env, cmd.Stderr = slices.Concat(env, []string{"TMPDIR=" + temp}), os.Stderr
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines, read := "", bufio.NewScanner(stdout)
			for range 3 {
				require.True(t, read.Scan(), "it ended early")
				lines += read.Text() + "\n"
			}
			shell := exec.CommandContext(t.Context(), "sh", "-ec", inTheShell, lines)
			shell.Env, shell.Stderr = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, os.Stderr
			server, err := shell.Output()
			require.NoError(t, err)
			assert.Regexp(t, `^https://127\.0\.0\.1:\d+$`, string(server))
			assert.Zero(t, asked.Load(), "another cluster was asked")

			for name, want := range map[string]string{".": "drwx------", "kubeconfig": "-rw-------", "etcd.sock": "S", "etcd-peer.sock:0": "S"} {
				paths, err := filepath.Glob(filepath.Join(temp, "controlplane-*", name))
				require.NoError(t, err)
				require.Len(t, paths, 1, name)
				info, err := os.Stat(paths[0])
				require.NoError(t, err)
				assert.True(t, strings.HasPrefix(info.Mode().String(), want), "%s: %s; others must not reach the keys", name, info.Mode())
			}

			started := running(t, temp)
			require.Greater(t, len(started), 3, "this test no longer finds the processes")
			for pid, command := range started {
				if strings.Contains(command, tc.frozen) {
					require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
				}
			}
			require.NoError(t, cmd.Process.Signal(tc.signal))
			assert.Equal(t, tc.signal == syscall.SIGTERM, cmd.Wait() == nil)
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				require.Empty(c, running(t, temp))
				data, _ := filepath.Glob(filepath.Join(temp, "controlplane-*", "etcd"))
				require.Empty(c, data, tc.reason)
			}, time.Minute, 20*time.Millisecond, "everything ends")
			logs, err := filepath.Glob(filepath.Join(temp, "controlplane-*", "kube-apiserver.log"))
			require.NoError(t, err)
			assert.Len(t, logs, tc.logs, tc.reason)
		})
	}
}

// inTheShell runs a Job and prints the address of the API server.
const inTheShell = `
eval "$0"
kubectl create job here --image=none >&2
kubectl wait --for=condition=complete --timeout=1m job/here >&2
kubectl config view --minify -o 'jsonpath={..server}'
`

// running returns the commands of the processes that name dir, by their number.
func running(t *testing.T, dir string) map[int]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-eo", "pid=,stat=,args=").Output()
	require.NoError(t, err)
	found := map[int]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if strings.Contains(line, dir) && !strings.HasPrefix(fields[1], "Z") {
			pid, err := strconv.Atoi(fields[0])
			require.NoError(t, err)
			found[pid] = line
		}
	}
	return found
}

// elsewhere has every variable and file that leads programs to a cluster. All
// lead to a server that must not be asked.
func elsewhere(t *testing.T) (env []string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ConnState = func(net.Conn, http.ConnState) { asked.Add(1) }
	other.Start()
	t.Cleanup(other.Close)

	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	cache = cmp.Or(os.Getenv("CONTROLLERKIT_CACHE"), filepath.Join(cache, "controllerkit"))
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o700))
	kubeconfig := filepath.Join(home, ".kube", "config")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, &rest.Config{Host: other.URL}))
	host, port, err := net.SplitHostPort(other.Listener.Addr().String())
	require.NoError(t, err)
	return append(os.Environ(),
		"CONTROLLERKIT_CACHE="+cache, // it is below HOME, and is not tested here
		"HOME="+home,
		"KUBECONFIG="+kubeconfig,
		"KUBERNETES_MASTER="+other.URL,
		"KUBERNETES_SERVICE_HOST="+host,
		"KUBERNETES_SERVICE_PORT="+port,
		"HTTPS_PROXY="+other.URL,
		"ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:1",
		"ETCD_DATA_DIR="+home,
		"ETCD_INITIAL_CLUSTER_STATE=existing",
	), asked
}
