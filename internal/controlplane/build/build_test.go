// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
	kubernetes := []string{"cmd/kube-apiserver", "cmd/kube-controller-manager", "cmd/kubectl", "cmd/kube-scheduler"}
	for _, m := range []struct {
		folder, module, version string
		programs                []string
	}{
		{"etcd", "go.etcd.io/etcd/server/v3", "v3.6.8", []string{"."}},
		{"kubernetes", "k8s.io/kubernetes", "v1.36.3", kubernetes},
		{"kwok", "sigs.k8s.io/kwok", "v0.8.0", []string{"cmd/kwok"}},
	} {
		write(fmt.Sprintf("module m\n\ngo 1.26\n\nrequire %[1]s %[2]s\n\nreplace %[1]s => ./code\n", m.module, m.version), m.folder, "go.mod")
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

func TestEnsure_BuildsOnceAndShowsProgress(t *testing.T) {
	src := source(t)
	goenv := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(goenv, []byte("GOFLAGS=-overlay=/nonexistent\n"), 0o600))
	t.Setenv("GOENV", goenv) // nothing of the caller's flags may get through, wherever they were set
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	programs, log, err := ensure(t, src)
	require.NoError(t, err)
	for _, line := range []string{"building etcd, kube-apiserver, kube-controller-manager from source", "once; cached in " + os.Getenv("CONTROLLERKIT_CACHE"), "step 1 of 3: etcd\n", "step 1 of 3: etcd: built in ", "step 3 of 3: kube-controller-manager: built in "} {
		assert.Contains(t, log, line)
	}
	files, err := os.ReadDir(filepath.Dir(programs[build.Etcd]))
	require.NoError(t, err)
	assert.Len(t, files, 3, "nothing but the programs stays")

	again, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Empty(t, log, "the second time there is nothing to do or to say")
	assert.Equal(t, programs, again)

	require.NoError(t, os.Remove(programs[build.ControllerManager]))
	_, log, err = ensure(t, src)
	require.NoError(t, err)
	assert.Contains(t, log, "step 1 of 1: kube-controller-manager")
	_, log, err = ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Contains(t, log, "step 1 of 1: kubectl", "on request")

	more, log, err := ensure(t, src, build.Scheduler, build.Kwok)
	require.NoError(t, err)
	assert.Contains(t, log, "step 1 of 1: kube-scheduler", "nothing else is built again")
	assert.Equal(t, filepath.Dir(programs[build.APIServer]), filepath.Dir(more[build.Scheduler]), "it is of the same module")
	require.NoError(t, os.WriteFile(filepath.Join(src, "kwok", "go.sum"), []byte("\n"), 0o644))
	changed, _, err := ensure(t, src, build.Kwok)
	require.NoError(t, err)
	assert.Equal(t, programs[build.Etcd], changed[build.Etcd], "a change of kwok's module rebuilds kwok alone")
	assert.NotEqual(t, more[build.Kwok], changed[build.Kwok])

	_, _, err = ensure(t, src, "kubelet")
	require.ErrorContains(t, err, `"kubelet"`)
	require.ErrorContains(t, err, build.ArgoRollouts, "the error lists the accepted programs")
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
	assert.Contains(t, log, "using 3 of 4 programs from KUBEBUILDER_ASSETS="+dir)
	assert.Contains(t, log, "step 1 of 1: kube-controller-manager")
	assert.Equal(t, filepath.Join(dir, build.Kubectl), programs[build.Kubectl], "absolute, because programs run in another directory")
	assert.NotEqual(t, dir, filepath.Dir(programs[build.ControllerManager]))

	require.NoError(t, os.Symlink(programs[build.ControllerManager], filepath.Join(dir, build.ControllerManager)))
	t.Setenv("PATH", t.TempDir()) // not even Go is needed
	_, _, err = ensure(t, src)
	require.NoError(t, err)
}
