// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"bytes"
	"context"
	"io"
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

// source writes build modules whose programs are one line each, and an empty
// cache.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const program = "package main\n\nfunc main() {}\n"
	write := func(path, content string) {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("etcd/go.mod", "module etcd\n\ngo 1.26\n\nrequire go.etcd.io/etcd/server/v3 v3.6.8\n\n"+
		"replace go.etcd.io/etcd/server/v3 => ./server\n")
	write("etcd/server/go.mod", "module go.etcd.io/etcd/server/v3\n\ngo 1.26\n")
	write("etcd/server/main.go", program)

	for folder, version := range map[string]string{"kubernetes": "36.3", "kubernetes-old": "35.0"} {
		write(folder+"/go.mod", "module kubernetes\n\ngo 1.26\n\nrequire (\n\tk8s.io/component-base v0."+version+"\n\tk8s.io/kubernetes v1."+version+"\n)\n\n"+
			"replace (\n\tk8s.io/component-base => ./component-base\n\tk8s.io/kubernetes => ./kubernetes\n)\n")
		write(folder+"/component-base/go.mod", "module k8s.io/component-base\n\ngo 1.26\n")
		write(folder+"/component-base/version/version.go", "package version\n\nvar gitVersion, gitMajor, gitMinor string\n\n"+
			"func Get() string { return gitVersion + \" \" + gitMajor + \" \" + gitMinor }\n")
		write(folder+"/kubernetes/go.mod", "module k8s.io/kubernetes\n\ngo 1.26\n")
		for _, name := range []string{build.APIServer, build.ControllerManager, build.Kubectl} {
			write(folder+"/kubernetes/cmd/"+name+"/main.go",
				"package main\n\nimport \"k8s.io/component-base/version\"\n\nfunc main() { println(version.Get()) }\n")
		}
	}
	write("kubernetes/kubernetes/cmd/"+build.Scheduler+"/main.go", program)
	write("kwok/go.mod", "module kwok\n\ngo 1.26\n\nrequire sigs.k8s.io/kwok v0.8.0\n\nreplace sigs.k8s.io/kwok => ./kwok\n")
	write("kwok/kwok/go.mod", "module sigs.k8s.io/kwok\n\ngo 1.26\n")
	write("kwok/kwok/cmd/kwok/main.go", program)
	t.Setenv("CONTROLLERKIT_CACHE", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("CONTROLLERKIT_KUBERNETES", "")
	return dir
}

// assets writes a directory of programs, as envtest's setup does.
func assets(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	return dir
}

func ensure(t *testing.T, source string) (build.Binaries, string, error) {
	t.Helper()
	var log bytes.Buffer
	programs, err := build.Ensure(t.Context(), build.Options{Log: &log, Source: source})
	return programs, log.String(), err
}

func TestEnsureBuildsOnceAndShowsProgress(t *testing.T) {
	src := source(t)
	goenv := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(goenv, []byte("GOFLAGS=-overlay=/nonexistent\n"), 0o600))
	t.Setenv("GOENV", goenv) // nothing of the caller's flags may get through, wherever they were set
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	programs, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Contains(t, log, "building 4 programs from source, about ")
	assert.Contains(t, log, "once; cached in "+os.Getenv("CONTROLLERKIT_CACHE"))
	for _, line := range []string{"step 1 of 4: etcd\n", "step 1 of 4: etcd: built in ", "step 4 of 4: kubectl: built in "} {
		assert.Contains(t, log, line)
	}

	for _, name := range []string{build.APIServer, build.ControllerManager, build.Kubectl} {
		out, err := exec.CommandContext(t.Context(), programs[name]).CombinedOutput()
		require.NoError(t, err)
		assert.Equal(t, "v1.36.3 1 36\n", string(out), "the version that the build module requires")
	}
	files, err := os.ReadDir(filepath.Dir(programs[build.Etcd]))
	require.NoError(t, err)
	assert.Len(t, files, 4, "nothing but the programs stays")

	again, log, err := ensure(t, src)
	require.NoError(t, err)
	assert.Empty(t, log, "the second time there is nothing to do or to say")
	assert.Equal(t, programs, again)

	require.NoError(t, os.Remove(programs[build.Kubectl]))
	_, log, err = ensure(t, src)
	require.NoError(t, err)
	assert.Contains(t, log, "building 1 program from source")
	assert.Contains(t, log, "step 1 of 1: kubectl")
}

func TestEnsureBuildsMoreForThoseWhoAsk(t *testing.T) {
	src := source(t)
	usual, _, err := ensure(t, src)
	require.NoError(t, err)
	require.NotContains(t, usual, build.Kwok)

	var log bytes.Buffer
	more, err := build.Ensure(t.Context(), build.Options{Log: &log, Source: src, More: []string{build.Scheduler, build.Kwok}})
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(log.String(), "building 1 program from source"), "nothing else is built again: %s", log.String())
	assert.Equal(t, filepath.Dir(usual[build.APIServer]), filepath.Dir(more[build.Scheduler]), "it is of the same module")
	assert.NotEqual(t, filepath.Dir(usual[build.APIServer]), filepath.Dir(more[build.Kwok]))
	assert.FileExists(t, more[build.Kwok])

	// A change of kwok's module rebuilds kwok alone.
	require.NoError(t, os.WriteFile(filepath.Join(src, "kwok", "go.sum"), []byte("\n"), 0o644))
	log.Reset()
	again, err := build.Ensure(t.Context(), build.Options{Log: &log, Source: src, More: []string{build.Scheduler, build.Kwok}})
	require.NoError(t, err)
	assert.Equal(t, usual[build.Etcd], again[build.Etcd])
	assert.NotEqual(t, more[build.Kwok], again[build.Kwok])

	_, err = build.Ensure(t.Context(), build.Options{Source: src, More: []string{"kubelet"}})
	require.ErrorContains(t, err, `"kubelet"`)
	require.ErrorContains(t, err, build.ArgoRollouts, "the error lists the accepted programs")
	_, err = build.Ensure(t.Context(), build.Options{Source: src, More: []string{build.ArgoRollouts}})
	require.ErrorContains(t, err, filepath.Join("argorollouts", "go.mod"), "this source has none")
}

func TestEnsureSharesOneBuild(t *testing.T) {
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
		builds += strings.Count(logs[i].String(), "building")
	}
	assert.Equal(t, 1, builds)
}

func TestEnsureFailsWithOneClearLine(t *testing.T) {
	src := source(t)
	main := filepath.Join(src, "kubernetes", "kubernetes", "cmd", build.ControllerManager, "main.go")
	require.NoError(t, os.WriteFile(main, []byte("package main\n\nfunc main() { undefinedThing() }\n"), 0o644))
	_, log, err := ensure(t, src)
	var failed *build.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, build.ControllerManager, failed.Program)
	assert.NotContains(t, err.Error(), "\n")
	require.ErrorContains(t, err, "undefined: undefinedThing", "the first thing that went wrong is in the line")
	require.ErrorContains(t, err, failed.Command)
	require.ErrorContains(t, err, failed.Log)
	assert.Contains(t, log, "step 3 of 4: kube-controller-manager: failed after ")

	kept, readErr := os.ReadFile(failed.Log)
	require.NoError(t, readErr)
	assert.Contains(t, string(kept), "undefined: undefinedThing")
	out, runErr := exec.CommandContext(t.Context(), "/bin/sh", "-c", failed.Command).CombinedOutput()
	require.Error(t, runErr)
	assert.Contains(t, string(out), "undefined: undefinedThing", "the command shows it again")

	_, log, err = ensure(t, src)
	require.Error(t, err)
	assert.Contains(t, log, "building 2 programs", "the finished programs stay")
}

func TestEnsureNamesWhatIsMissing(t *testing.T) {
	source(t)
	_, _, err := ensure(t, t.TempDir())
	require.ErrorContains(t, err, filepath.Join("etcd", "go.mod"))

	src := source(t)
	require.NoError(t, os.WriteFile(filepath.Join(src, "kubernetes", "go.mod"), []byte("modul kubernetes\n"), 0o644))
	_, _, err = ensure(t, src)
	require.ErrorContains(t, err, "kube-apiserver was not built")
	require.ErrorContains(t, err, "unknown directive: modul")

	src = source(t)
	t.Setenv("PATH", t.TempDir())
	_, _, err = ensure(t, src)
	require.ErrorIs(t, err, exec.ErrNotFound)
	require.ErrorContains(t, err, "go command")
}

func TestEnsureStopsWithItsContext(t *testing.T) {
	src := source(t)
	ctx, cancel := context.WithCancel(t.Context())
	// The first line of the progress comes just before the first program.
	log := writer(func(p []byte) (int, error) { cancel(); return len(p), nil })
	_, err := build.Ensure(ctx, build.Options{Log: log, Source: src})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = ensure(t, src)
	require.NoError(t, err, "nothing half done is in the way")
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

var _ io.Writer = writer(nil)

func TestEnsureUsesAssets(t *testing.T) {
	src := source(t)
	all := assets(t, build.Etcd, build.APIServer, build.ControllerManager, build.Kubectl)
	usual := assets(t, build.Etcd, build.APIServer, build.Kubectl)

	t.Run("all", func(t *testing.T) {
		t.Setenv("KUBEBUILDER_ASSETS", all)
		t.Setenv("PATH", t.TempDir()) // not even Go is needed
		programs, log, err := ensure(t, src)
		require.NoError(t, err)
		assert.Contains(t, log, "using etcd, kube-apiserver, kube-controller-manager, kubectl from KUBEBUILDER_ASSETS="+all)
		assert.Equal(t, filepath.Join(all, build.Kubectl), programs[build.Kubectl])
	})
	t.Run("without-controller-manager", func(t *testing.T) {
		t.Chdir(filepath.Dir(usual))
		t.Setenv("KUBEBUILDER_ASSETS", filepath.Base(usual))
		programs, log, err := ensure(t, src)
		require.NoError(t, err)
		assert.Contains(t, log, "using etcd, kube-apiserver, kubectl from KUBEBUILDER_ASSETS=")
		assert.Contains(t, log, "building 1 program ")
		assert.True(t, filepath.IsAbs(programs[build.Etcd]), "programs run in another directory")
		assert.NotEqual(t, usual, filepath.Dir(programs[build.ControllerManager]))
	})
	t.Run("none", func(t *testing.T) {
		t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
		_, log, err := ensure(t, src)
		require.NoError(t, err)
		assert.Contains(t, log, "holds none of the programs")
	})
}
