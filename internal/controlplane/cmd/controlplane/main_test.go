// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command builds the program and returns a function that runs it with a
// separate state file.
func command(t *testing.T) (run func(args string) (stdout, stderr string, err error), state string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's") // a quote in the path, for env
	require.NoError(t, os.Mkdir(dir, 0o700))
	program := filepath.Join(dir, "controlplane")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	state = filepath.Join(dir, "state.json")
	return func(arg string) (string, string, error) {
		var stdout, stderr strings.Builder
		cmd := exec.CommandContext(t.Context(), program, "--state="+state, arg)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}, state
}

func TestUpEnvDown(t *testing.T) {
	run, state := command(t)
	text, _, err := run("down")
	require.NoError(t, err)
	assert.Equal(t, "none is up\n", text)
	text, why, err := run("env")
	require.Error(t, err)
	assert.Empty(t, text, "eval is given nothing")
	assert.Contains(t, why, "none is up: make controlplane-up")

	text, why, err = run("up")
	require.NoError(t, err, why)
	t.Cleanup(func() { _, _, _ = run("down") }) // after a failure
	assert.Contains(t, text, "at https://127.0.0.1:")

	_, why, err = run("up")
	require.Error(t, err, "there is one")
	assert.Regexp(t, `^controlplane: one is up already, pid \d+ at https://127\.0\.0\.1:\d+: .*controlplane-env.*controlplane-down ends it\n$`, why)

	lines, _, err := run("env")
	require.NoError(t, err)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `eval "$0"; kubectl get namespace default -o name; kubectl config view --minify -o 'jsonpath={..server}'`, lines)
	shell.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Regexp(t, `^namespace/default\nhttps://127\.0\.0\.1:\d+$`, string(out))

	var up struct{ Pid int }
	body, err := os.ReadFile(state)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &up))
	text, why, err = run("down")
	require.NoError(t, err, why)
	assert.Equal(t, "down, pid "+strconv.Itoa(up.Pid)+"\n", text)
	assert.NoFileExists(t, state)
	assert.NoFileExists(t, strings.Split(lines, "'")[1], "its files are gone")
	require.Eventually(t, func() bool { return syscall.Kill(up.Pid, 0) != nil }, time.Minute, 10*time.Millisecond, "the process is gone, once init has seen it end")
}

func TestDownEndsNoOtherProcess(t *testing.T) {
	run, state := command(t)
	for name, tc := range map[string]struct{ reason, state, says string }{
		"PidUsedAgain": {"The control plane was killed, and its pid is another process's now.", `{"pid":PID,"started":"1"}`, "none is up"},
		"Broken":       {"Nothing is ended on the word of a file that up did not write.", `{"pid":PID}`, "is not what up writes"},
		"Group":        {"Pid 0 and below are groups of processes, 1 is init.", `{"pid":-1,"started":"1"}`, "is not what up writes"},
	} {
		t.Run(name, func(t *testing.T) {
			other := exec.CommandContext(t.Context(), "sleep", "600")
			require.NoError(t, other.Start())
			require.NoError(t, os.WriteFile(state, []byte(strings.ReplaceAll(tc.state, "PID", strconv.Itoa(other.Process.Pid))), 0o600))
			stdout, stderr, _ := run("down")
			assert.Contains(t, stdout+stderr, tc.says, tc.reason)
			require.NoError(t, other.Process.Signal(syscall.SIGUSR1))
			require.ErrorContains(t, other.Wait(), "user defined signal 1", "it was not killed before: "+tc.reason)
		})
	}
}
