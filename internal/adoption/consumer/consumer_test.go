// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package consumer tests the module as users get it: packed like a module proxy
// packs it, and required by a fresh module.
package consumer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// budget limits what one package costs a fresh module: the other modules in its
// go.mod, the lines of its go.sum, and the modules whose packages it compiles.
// go.sum also has the modules of the package's own tests, which go mod tidy
// adds. For comparison, apimachinery's metav1 of v0.34 costs 17 modules and 85
// lines, and client-go's clientset 40 and 156.
type budget struct{ requires, sums, compiles int }

// Before go mod tidy it builds: README's first command gets everything that the
// package needs.
func TestAFreshModuleTakesOnePackage(t *testing.T) {
	r := publish(t)
	env := r.env(t)
	for name, want := range map[string]budget{
		"status":        {17, 95, 17},  // its tests take k8s.io/api
		"events":        {21, 137, 20}, // client-go with its queue
		"events/redact": {0, 10, 0},
		"jobgc":         {19, 137, 18},
		"metrics":       {5, 54, 5},
		"metrics/kube":  {10, 118, 10},
		"metrics/mixin": {0, 14, 0}, // two files; its tests take testify
		"metrics/prom":  {21, 70, 21},
		"rollout":       {19, 97, 18},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run(t, dir, env, "go", "mod", "init", "example.com/consumer")
			run(t, dir, env, "go", "get", firstGet(t, name))
			write(t, filepath.Join(dir, "main.go"), program(modulePath+"/"+name))
			run(t, dir, env, "go", "build", "-o", os.DevNull, ".")
			run(t, dir, env, "go", "mod", "tidy")
			run(t, dir, env, "go", "build", "-o", os.DevNull, ".")

			const module = `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`
			modules := map[string]bool{}
			for path := range strings.FieldsSeq(string(run(t, dir, env, "go", "list", "-deps", "-f", module, "."))) {
				modules[path] = true
			}
			delete(modules, modulePath)
			got := budget{
				requires: len(regexp.MustCompile(`(?m)^(require |\t)\S+ v`).FindAllString(read(t, dir, "go.mod"), -1)) - 1,
				sums:     strings.Count(read(t, dir, "go.sum"), "\n"),
				compiles: len(modules),
			}
			t.Logf("%-18s go.mod requires %2d more, go.sum has %3d lines, packages of %2d modules are compiled", name, got.requires, got.sums, got.compiles)
			assert.LessOrEqual(t, got.requires, want.requires, "go.mod:\n%s", read(t, dir, "go.mod"))
			assert.LessOrEqual(t, got.sums, want.sums, "go.sum")
			assert.LessOrEqual(t, got.compiles, want.compiles, "modules")
		})
	}
}

// TestGet_MetricsBuildInAProjectOnClientGo: such a project has the modules of
// metrics/kube already, but not the modules of metrics.
func TestGet_MetricsBuildInAProjectOnClientGo(t *testing.T) {
	r := publish(t)
	env := r.env(t)
	const clientGo = "k8s.io/client-go/util/workqueue"
	for _, version := range []string{"v0.34.0", "v0.37.2"} {
		dir := t.TempDir()
		run(t, dir, env, "go", "mod", "init", "example.com/consumer")
		write(t, filepath.Join(dir, "main.go"), program(clientGo))
		run(t, dir, env, "go", "get", clientGo+"@"+version)
		run(t, dir, env, "go", "mod", "tidy")
		run(t, dir, env, "go", "get", firstGet(t, "metrics"))
		write(t, filepath.Join(dir, "main.go"), program(clientGo, modulePath+"/metrics"))
		run(t, dir, env, "go", "build", "-o", os.DevNull, ".")
	}
}

// firstGet returns the argument of README's go get, for another package.
func firstGet(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^go get (\S+)`).FindStringSubmatch(read(t, "../../..", "README.md"))
	require.NotNil(t, found, "README has a go get")
	return strings.Replace(found[1], "/status@", "/"+name+"@", 1)
}

// program returns a main package that imports the packages.
func program(paths ...string) string {
	return "package main\n\n" + blank(paths) + "\nfunc main() {}\n"
}

// TestTheZipHoldsTheRootModuleOnly: a nested module in the zip would have the
// wrong path.
func TestTheZipHoldsTheRootModuleOnly(t *testing.T) {
	r := publish(t)
	for _, needed := range []string{"go.mod", "LICENSE", "README.md", "CHANGELOG.md", "doc.go", "status/writer.go", "examples/hello/main.go"} {
		assert.Contains(t, r.files, needed)
	}
	for _, name := range r.files {
		for _, nested := range r.nested {
			assert.False(t, strings.HasPrefix(name, nested+"/"), "%s belongs to the nested module %s", name, nested)
		}
	}
	assert.Greater(t, len(r.nested), 5, "the nested modules were found")
	assert.Less(t, r.bytes, 2<<20, "bytes of the zip")
	t.Logf("%d files, %d KiB packed", len(r.files), r.bytes>>10)
}

// TestRelease_CommandsOfThePagesWork runs the first commands of README, which
// name the version latest, the ones of the release checklist that try a
// published version, and those of the release notes. hello must print what its
// README shows, and a program that imports the package builds.
func TestRelease_CommandsOfThePagesWork(t *testing.T) {
	r := publish(t)
	shown := regexp.MustCompile("(?s)```text\n(status .*?)```").FindStringSubmatch(read(t, "../../../examples/hello", "README.md"))
	require.NotNil(t, shown, "the README of hello shows its output")
	for page, commands := range map[string]string{
		"README.md":                "(?s)```sh\n(go get .*?@latest.*?)```",
		"internal/docs/release.md": "(?s)Try it in an empty folder.*?```sh\n(.*?)```",
		"internal/docs/releases/" + r.version + ".md": "(?s)## Try it\n\n```sh\n(.*?)```",
	} {
		block := regexp.MustCompile(commands).FindStringSubmatch(read(t, "../../..", page))
		require.NotNil(t, block, "%s tries a version", page)
		dir, tmp := t.TempDir(), t.TempDir() // go ignores a go.mod in TMPDIR itself
		run(t, dir, r.env(t), "go", "mod", "init", "example.com/consumer")
		out := run(t, dir, append(r.env(t), "VERSION="+r.version, "TMPDIR="+tmp), "bash", "-euc", block[1])
		assert.Equal(t, shown[1], string(out), page)
		mods, err := filepath.Glob(filepath.Join(tmp, "*", "go.mod")) // the checklist makes a folder
		require.NoError(t, err)
		mods = append(mods, filepath.Join(dir, "go.mod"))
		dir = filepath.Dir(mods[0])
		assert.Contains(t, read(t, dir, "go.mod"), modulePath+" "+r.version, page)
		write(t, filepath.Join(dir, "main.go"), program(modulePath+"/status"))
		run(t, dir, r.env(t), "go", "build", "-o", os.DevNull, ".")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(body)
}

func write(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
}
