// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
		folder, file, module, version, code string
		programs                            []string
	}{
		{"etcd", "go.mod", "go.etcd.io/etcd/server/v3", "v3.6.8", "code", []string{"."}},
		{"kubernetes", "go.mod", "k8s.io/kubernetes", "v1.36.3", "code", kubernetes},
		{"kubernetes", "1.35.mod", "k8s.io/kubernetes", "v1.35.0-rc.1", "old", kubernetes},
		{"kwok", "go.mod", "sigs.k8s.io/kwok", "v0.8.0", "code", []string{"cmd/kwok"}},
	} {
		write(fmt.Sprintf("module m\n\ngo 1.26\n\nrequire %[1]s %[2]s\n\nreplace %[1]s => ./%[3]s\n", m.module, m.version, m.code), m.folder, m.file)
		write(fmt.Sprintf("module %s\n\ngo 1.26\n", m.module), m.folder, m.code, "go.mod")
		for _, program := range m.programs {
			write(fmt.Sprintf("package main\n\nfunc main() { println(%q) }\n", m.version), m.folder, m.code, program, "main.go")
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

func TestEnsure_TakesTheVersionThatIsAskedFor(t *testing.T) {
	src := source(t)
	usual, _, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	t.Setenv("CONTROLLERKIT_KUBERNETES", "1.36")
	same, _, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Equal(t, usual, same, "the default version")

	t.Setenv("CONTROLLERKIT_KUBERNETES", "1.35")
	older, _, err := ensure(t, src, build.Kubectl)
	require.NoError(t, err)
	assert.Equal(t, usual[build.Etcd], older[build.Etcd], "etcd has its own version")
	for _, name := range []string{build.APIServer, build.ControllerManager, build.Kubectl} {
		for path, want := range map[string]string{usual[name]: "v1.36.3\n", older[name]: "v1.35.0-rc.1\n"} {
			out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
			require.NoError(t, err)
			assert.Equal(t, want, string(out), name)
		}
	}

	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	_, _, err = ensure(t, src)
	require.ErrorContains(t, err, "unset one", "the version of the programs in KUBEBUILDER_ASSETS is unknown")
	t.Setenv("CONTROLLERKIT_KUBERNETES", "../1.36")
	_, _, err = ensure(t, src)
	require.ErrorContains(t, err, "1.35 or 1.36", "the error lists the accepted versions")
}

func TestEnsure_SharesOneBuild(t *testing.T) {
	src := source(t)
	var all sync.WaitGroup
	logs := make([]bytes.Buffer, 3)
	for i := range logs {
		all.Go(func() {
			_, err := build.Ensure(t.Context(), build.Options{Log: &logs[i], Source: src})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	builds := 0
	for i := range logs {
		builds += strings.Count(logs[i].String(), "from source")
	}
	assert.Equal(t, 1, builds)
}

func TestEnsure_SaysWhyAProgramWasNotBuilt(t *testing.T) {
	src := source(t)
	main := filepath.Join(src, "kubernetes", "code", "cmd", build.ControllerManager, "main.go")
	require.NoError(t, os.WriteFile(main, []byte("package main\n\nfunc main() { undefinedThing() }\n"), 0o644))
	_, log, err := ensure(t, src)
	require.ErrorContains(t, err, build.ControllerManager)
	require.ErrorContains(t, err, "undefined: undefinedThing")
	assert.Contains(t, log, "step 3 of 3: kube-controller-manager: failed after ")
	_, log, err = ensure(t, src)
	require.Error(t, err)
	assert.Contains(t, log, "step 1 of 1", "the finished programs stay")
}

func TestEnsure_StopsWithItsContext(t *testing.T) {
	src := source(t)
	ctx, cancel := context.WithCancel(t.Context())
	// The first line of the progress comes just before the first program.
	_, err := build.Ensure(ctx, build.Options{Log: writer(cancel), Source: src})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = ensure(t, src)
	require.NoError(t, err, "nothing half done is in the way")
}

type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
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
