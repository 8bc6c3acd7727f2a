// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinesPointKubectlAtIt: the printed lines work in a bare shell. SIGTERM
// leaves nothing behind.
func TestLinesPointKubectlAtIt(t *testing.T) {
	dir, err := os.MkdirTemp("", "it's-") //nolint:usetesting // a quote in the path, for the lines; t.TempDir() is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so that nothing is compiled twice
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+dir), os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, read := "", bufio.NewScanner(stdout)
	for range 3 {
		require.True(t, read.Scan(), "it ended early")
		lines += read.Text() + "\n"
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", `eval "$0"; kubectl get namespace default -o name; kubectl config view --minify -o 'jsonpath={..server}'`, lines)
	shell.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err = shell.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Regexp(t, `^namespace/default\nhttps://127\.0\.0\.1:\d+$`, string(out))

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	files, err := filepath.Glob(filepath.Join(dir, "controlplane-*"))
	require.NoError(t, err)
	assert.Empty(t, files, "its files are gone")
}
