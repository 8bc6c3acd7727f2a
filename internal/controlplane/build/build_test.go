// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// source writes build modules with programs that do nothing, and an empty
// cache.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const program = "package main\n\nfunc main() {}\n"
	for path, content := range map[string]string{
		"others/go.mod":                                  "module go.etcd.io/etcd/server/v3\n\ngo 1.26\n",
		"others/go.sum":                                  "",
		"others/main.go":                                 program,
		"kubernetes/go.mod":                              "module k8s.io/kubernetes\n\ngo 1.26\n",
		"kubernetes/go.sum":                              "",
		"kubernetes/cmd/kube-apiserver/main.go":          program,
		"kubernetes/cmd/kube-controller-manager/main.go": program,
		"kubernetes/cmd/kubectl/main.go":                 program,
	} {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	t.Setenv("CONTROLLERKIT_CACHE", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("CONTROLLERKIT_KUBERNETES", "")
	return dir
}

func TestEnsure(t *testing.T) {
	src := source(t)
	ensure := func(building int, more ...string) build.Binaries {
		var log bytes.Buffer
		programs, err := build.Ensure(t.Context(), build.Options{Log: &log, Source: src, More: more})
		require.NoError(t, err)
		assert.Equal(t, building, strings.Count(log.String(), "building "), log.String())
		return programs
	}
	goenv := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(goenv, []byte("GOFLAGS=-overlay=/nonexistent\n"), 0o600))
	t.Setenv("GOENV", goenv) // nothing of the caller's flags may get through, wherever they were set
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	programs := ensure(3)
	assert.Equal(t, programs, ensure(0), "the second time there is nothing to do")

	require.NoError(t, os.Remove(programs[build.ControllerManager]))
	more := ensure(2, build.Kubectl) // the missing one, and the one asked for
	require.NoError(t, os.WriteFile(filepath.Join(src, "others", "go.sum"), []byte("\n"), 0o644))
	changed := ensure(1, build.Kubectl)
	assert.Equal(t, more[build.Kubectl], changed[build.Kubectl], "a change of a module rebuilds its programs alone")
	assert.NotEqual(t, more[build.Etcd], changed[build.Etcd])
	_, err := build.Ensure(t.Context(), build.Options{Source: src, More: []string{"kubelet"}})
	require.ErrorContains(t, err, `"kubelet"`)

	dir := t.TempDir()
	for name, program := range more {
		require.NoError(t, os.Symlink(program, filepath.Join(dir, name)))
	}
	t.Chdir(filepath.Dir(dir))
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Base(dir))
	t.Setenv("PATH", t.TempDir()) // not even Go is needed
	assets := ensure(0, build.Kubectl)
	assert.Equal(t, filepath.Join(dir, build.Kubectl), assets[build.Kubectl], "absolute, because programs run in another directory")
}
