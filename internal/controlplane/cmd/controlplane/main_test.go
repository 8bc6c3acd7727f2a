// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheProgram: the printed lines work in a bare shell. Everything listens on
// the loopback or on a socket of the owner, variables that lead to another
// cluster change nothing, and nothing outlives the program.
func TestTheProgram(t *testing.T) {
	dir, err := os.MkdirTemp("", "it's-") //nolint:usetesting // a quote in the path, for the lines; t.TempDir() is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so that nothing is compiled twice
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	env := elsewhere(t)

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

// elsewhere has every variable that leads programs to a cluster. All lead to
// one that does not answer.
func elsewhere(t *testing.T) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	home := t.TempDir()
	return append(os.Environ(),
		// It is below HOME, and is not tested here.
		"CONTROLLERKIT_CACHE="+cmp.Or(os.Getenv("CONTROLLERKIT_CACHE"), filepath.Join(cache, "controllerkit")),
		"HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "config"),
		"KUBERNETES_MASTER=http://127.0.0.1:1",
		"KUBERNETES_SERVICE_HOST=127.0.0.1",
		"KUBERNETES_SERVICE_PORT=1",
		"HTTPS_PROXY=http://127.0.0.1:1",
		"ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:1",
		"ETCD_DATA_DIR="+home,
		"ETCD_INITIAL_CLUSTER_STATE=existing",
	)
}
