// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package consumer_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// adopter is a module that takes packages.
type adopter struct {
	imports []string // of its code
	gets    []string // modules with versions
}

// everyPackage has the import paths of the packages.
func everyPackage() (paths []string) {
	for _, name := range []string{
		"events", "events/eventstest", "events/redact", "jobgc", "jobgc/expire", "jobgc/jobgctest",
		"metrics", "metrics/kube", "metrics/mixin", "metrics/prom", "metrics/tracelog",
		"rollout", "rollout/plan",
		"status", "status/applyconfiguration", "status/rules", "status/statustest",
	} {
		paths = append(paths, modulePath+"/"+name)
	}
	return paths
}

// TestGet_KeepsTheKubernetesVersionsOfAProject takes all packages together:
// they raise everything that one of them raises. One project is on the lowest
// client-go, with the OpenTelemetry of its time, and one has raised client-go
// without controller-runtime. TestScaffold has one on each minor.
func TestGet_KeepsTheKubernetesVersionsOfAProject(t *testing.T) {
	r := publish(t)
	for path, version := range map[string]string{
		"go.opentelemetry.io/otel":       "v1.35.0",
		"sigs.k8s.io/controller-runtime": "v0.21.0",
	} {
		a := adopter{
			[]string{"k8s.io/api/core/v1", "k8s.io/client-go/kubernetes", path},
			[]string{"k8s.io/api@v0.34.0", "k8s.io/apimachinery@v0.34.0", "k8s.io/client-go@v0.34.0", path + "@" + version},
		}
		for _, m := range a.take(t, r, everyPackage()) {
			assert.NotContains(t, m, "k8s.io/")
		}
	}
}

// TestGet_NeedsNoClientGoForAPITypes: such a module has the newest k8s.io/api
// and no client-go, and client-go v0.34 needs packages that this api dropped.
func TestGet_NeedsNoClientGoForAPITypes(t *testing.T) {
	a := adopter{
		[]string{"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1"},
		[]string{"k8s.io/api@v0.37.2", "k8s.io/apimachinery@v0.37.2"},
	}
	paths := []string{
		modulePath + "/rollout", modulePath + "/rollout/plan",
		modulePath + "/status", modulePath + "/status/applyconfiguration",
	}
	assert.Empty(t, a.take(t, publish(t), paths))
}

// take makes the module, adds packages to it, and checks that it compiles. It
// returns the modules that this raises.
func (a adopter) take(t *testing.T, r release, paths []string) (raised []string) {
	t.Helper()
	dir, env := t.TempDir(), r.env(t)
	write(t, filepath.Join(dir, "main.go"), program(a.imports...))
	run(t, dir, env, "go", "mod", "init", "example.com/consumer")
	run(t, dir, env, "go", append([]string{"get"}, a.gets...)...)
	run(t, dir, env, "go", "mod", "tidy")
	before := versions(read(t, dir, "go.mod"))
	get := []string{"get"}
	for _, path := range paths {
		get = append(get, path+"@"+r.version)
	}
	run(t, dir, env, "go", get...)
	write(t, filepath.Join(dir, "more.go"), "package main\n\n"+blank(paths))
	after := versions(read(t, dir, "go.mod"))
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			raised = append(raised, path+" "+before[path]+" => "+after[path])
		}
	}
	t.Logf("%v: %d rise: %s", a.gets, len(raised), strings.Join(raised, ", "))
	check(t, dir, env, ".")
	return raised
}

// check finds what the compiler would refuse in packages of the module in dir.
func check(t *testing.T, dir string, env []string, packages string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "check")
	run(t, ".", nil, "go", "build", "-o", program, "./check")
	t.Logf("checked %s", run(t, dir, env, program, packages))
}

// blank imports the packages for nothing but to have them.
func blank(paths []string) string {
	return "import (\n\t_ \"" + strings.Join(paths, "\"\n\t_ \"") + "\"\n)\n"
}

// versions maps the module paths in a go.mod to their versions.
func versions(body string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) (v\S+)`).FindAllStringSubmatch(body, -1) {
		out[m[1]] = m[2]
	}
	return out
}
