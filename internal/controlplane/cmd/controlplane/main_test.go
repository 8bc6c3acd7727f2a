// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUpEnvDown(t *testing.T) {
	dir, err := os.MkdirTemp("", "it's-") //nolint:usetesting // a quote in the path, for env; t.TempDir() is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
	program, socket := filepath.Join(dir, "controlplane"), filepath.Join(dir, "s")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so that nothing is compiled twice
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := func(command string) (string, string, error) {
		var stdout, stderr strings.Builder
		cmd := exec.Command(program, "--socket="+socket, command)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	up := func() (pid string) {
		t.Helper()
		text, why, err := run("up")
		require.NoError(t, err, why)
		return regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(text)[1]
	}
	text, _, err := run("down")
	require.NoError(t, err)
	assert.Equal(t, "none is up\n", text)
	text, why, err := run("env")
	require.Error(t, err)
	assert.Empty(t, text, "eval is given nothing")
	assert.Contains(t, why, "make controlplane-up")

	pid := up()
	t.Cleanup(func() { _, _, _ = run("down") }) // after a failure
	_, why, err = run("up")
	require.Error(t, err, "there is one")
	assert.Regexp(t, `one is up already: .*controlplane-env.*controlplane-down ends it`, why)
	require.NoError(t, exec.CommandContext(t.Context(), "kill", "-9", pid).Run())
	require.Eventually(t, func() bool { _, _, err := run("env"); return err != nil }, time.Minute, 10*time.Millisecond, "it was killed")

	pid = up()
	lines, _, err := run("env")
	require.NoError(t, err)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `eval "$0"; kubectl get namespace default -o name; kubectl config view --minify -o 'jsonpath={..server}'`, lines)
	shell.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err = shell.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Regexp(t, `^namespace/default\nhttps://127\.0\.0\.1:\d+$`, string(out))

	require.NoError(t, exec.CommandContext(t.Context(), "kill", "-TERM", pid).Run())
	require.Eventually(t, func() bool { _, _, err := run("up"); return err == nil }, time.Minute, 10*time.Millisecond, "the next need not wait for its end")
	require.Eventually(t, func() bool {
		state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // fails if there is none
		return len(state) == 0 || state[0] == 'Z'
	}, time.Minute, 10*time.Millisecond, "it ends")
	_, why, err = run("env")
	require.NoError(t, err, "its end leaves the socket of the next: %s", why)

	text, why, err = run("down")
	require.NoError(t, err, why)
	assert.Equal(t, "down\n", text)
	assert.NoFileExists(t, socket)
	files, err := filepath.Glob(filepath.Join(dir, "controlplane-*"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "its files are gone; those of the killed one stay for a day")
}
