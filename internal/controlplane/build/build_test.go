// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// source writes build modules whose programs print the version of their module,
// and an empty cache.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(content string, path ...string) {
		file := filepath.Join(append([]string{dir}, path...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
	kubernetes := []string{"cmd/kube-apiserver", "cmd/kube-controller-manager", "cmd/kubectl"}
	for _, m := range []struct {
		folder, module, version string
		programs                []string
	}{
		{"others", "go.etcd.io/etcd/server/v3", "v3.6.8", []string{"."}},
		{"kubernetes", "k8s.io/kubernetes", "v1.36.3", kubernetes},
	} {
		write(fmt.Sprintf("module m\n\ngo 1.26\n\nrequire %[1]s %[2]s\n\nreplace %[1]s => ./code\n", m.module, m.version), m.folder, "go.mod")
		write("", m.folder, "go.sum")
		write(fmt.Sprintf("module %s\n\ngo 1.26\n", m.module), m.folder, "code", "go.mod")
		for _, program := range m.programs {
			write(fmt.Sprintf("package main\n\nfunc main() { println(%q) }\n", m.version), m.folder, "code", program, "main.go")
		}
	}
	t.Setenv("CONTROLLERKIT_CACHE", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("CONTROLLERKIT_KUBERNETES", "")
	return dir
}

func ensure(t *testing.T, source string, more ...string) (build.Binaries, string, error) {
	t.Helper()
	var log bytes.Buffer
	programs, err := build.Ensure(t.Context(), build.Options{Log: &log, Source: source, More: more})
	return programs, log.String(), err
}

func TestEnsure_BuildsOnceAndSaysSo(t *testing.T) {
	src := source(t)
	goenv := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(goenv, []byte("GOFLAGS=-overlay=/nonexistent\n"), 0o600))
	t.Setenv("GOENV", goenv) // nothing of the caller's flags may get through, wherever they were set
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	programs, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(log, "building "), log)
	assert.Contains(t, log, "once; cached in "+os.Getenv("CONTROLLERKIT_CACHE"))

	again, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Empty(t, log, "the second time there is nothing to do or to say")
	assert.Equal(t, programs, again)

	require.NoError(t, os.Remove(programs[build.ControllerManager]))
	more, log, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(log, "building "), "the missing one, and the one asked for: %s", log)
	require.NoError(t, os.WriteFile(filepath.Join(src, "others", "go.sum"), []byte("\n"), 0o644))
	changed, _, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Equal(t, more[build.Kubectl], changed[build.Kubectl], "a change of a module rebuilds its programs alone")
	assert.NotEqual(t, more[build.Etcd], changed[build.Etcd])

	_, _, err = ensure(t, src, "kubelet")
	require.ErrorContains(t, err, `"kubelet"`)
}

func TestEnsure_UsesAssets(t *testing.T) {
	src := source(t)
	dir := t.TempDir()
	for _, name := range []string{build.Etcd, build.APIServer, build.Kubectl} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	t.Chdir(filepath.Dir(dir))
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Base(dir))
	programs, log, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(log, "building kube-controller-manager"), log)
	assert.Equal(t, filepath.Join(dir, build.Kubectl), programs[build.Kubectl], "absolute, because programs run in another directory")

	require.NoError(t, os.Symlink(programs[build.ControllerManager], filepath.Join(dir, build.ControllerManager)))
	t.Setenv("PATH", t.TempDir()) // not even Go is needed
	_, _, err = ensure(t, src)
	require.NoError(t, err)
}
