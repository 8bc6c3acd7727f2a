// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

func TestProgramsCarryTheirRealVersion(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{})
	require.NoError(t, err)
	kubectl := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), cp.Kubectl(), append(args, "--kubeconfig", cp.Kubeconfig())...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	minor := cmp.Or(os.Getenv("CONTROLLERKIT_KUBERNETES"), "1.36")
	want := map[string]string{"1.34": "v1.34.4", "1.35": "v1.35.0", "1.36": "v1.36.3"}[minor]
	assert.Contains(t, kubectl("get", "--raw=/version"), `"minor": "`+strings.TrimPrefix(minor, "1.")+`"`)
	out := kubectl("version")
	assert.Contains(t, out, "Client Version: "+want)
	assert.Contains(t, out, "Server Version: "+want)

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
