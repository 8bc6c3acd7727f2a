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

// project is a module of an adopter, with the versions that it requires.
type project struct{ clientGo, controllerRuntime, otel string }

// projects are one on the lowest client-go, with the OpenTelemetry of its time,
// and one that raised client-go without controller-runtime. TestScaffold has
// one on each minor.
var projects = []project{
	{"v0.34.0", "", "v1.35.0"},
	{"v0.34.0", "v0.21.0", ""},
}

// everyPackage has the import paths of the packages.
func everyPackage() (paths []string) {
	for _, name := range []string{
		"events", "events/eventstest", "events/redact", "jobgc", "jobgc/expire", "jobgc/hold", "jobgc/jobgctest",
		"metrics", "metrics/catalog", "metrics/kube", "metrics/manifest", "metrics/prom", "metrics/tracelog",
		"rollout", "rollout/live", "rollout/plan", "rollout/settings",
		"status", "status/applyconfiguration", "status/rules", "status/statustest",
	} {
		paths = append(paths, modulePath+"/"+name)
	}
	return paths
}

// TestGet_KeepsTheKubernetesVersionsOfAProject takes all packages together:
// they raise whatever one of them raises.
func TestGet_KeepsTheKubernetesVersionsOfAProject(t *testing.T) {
	r := publish(t)
	env := r.env(t)
	for _, p := range projects {
		t.Run(strings.TrimSpace("client-go "+p.clientGo+" "+p.controllerRuntime), func(t *testing.T) {
			dir := t.TempDir()
			before := p.create(t, dir, env)
			take(t, dir, env, r.version, everyPackage()...)
			raised := changed(before, versions(read(t, dir, "go.mod")))
			t.Logf("raised: %s", strings.Join(raised, ", "))
			for _, m := range raised {
				assert.NotContains(t, m, "k8s.io/")
			}
			check(t, dir, env, ".")
		})
	}
}

// TestGet_NeedsNoClientGoForAPITypes: such a module has the newest k8s.io/api
// and no client-go, and client-go v0.34 needs packages that this api dropped.
func TestGet_NeedsNoClientGoForAPITypes(t *testing.T) {
	r := publish(t)
	env, dir := r.env(t), t.TempDir()
	write(t, filepath.Join(dir, "main.go"), "package main\n\n"+blank([]string{"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1"})+"\nfunc main() {}\n")
	run(t, dir, env, "go", "mod", "init", "example.com/consumer")
	run(t, dir, env, "go", "get", "k8s.io/api@v0.37.2", "k8s.io/apimachinery@v0.37.2")
	run(t, dir, env, "go", "mod", "tidy")
	before := versions(read(t, dir, "go.mod"))
	for _, name := range []string{"rollout", "rollout/plan", "status", "status/applyconfiguration"} {
		take(t, dir, env, r.version, modulePath+"/"+name)
		assert.Empty(t, changed(before, versions(read(t, dir, "go.mod"))), name)
	}
	check(t, dir, env, ".")
}

// check finds what the compiler would refuse in packages of the module in dir.
func check(t *testing.T, dir string, env []string, packages string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "check")
	run(t, ".", nil, "go", "build", "-o", program, "./check")
	t.Logf("checked %s", run(t, dir, env, program, packages))
}

// take adds packages to the module in dir.
func take(t *testing.T, dir string, env []string, version string, paths ...string) {
	t.Helper()
	write(t, filepath.Join(dir, "more.go"), "package main\n\n"+blank(paths))
	get := []string{"get"}
	for _, path := range paths {
		get = append(get, path+"@"+version)
	}
	run(t, dir, env, "go", get...)
	run(t, dir, env, "go", "mod", "tidy")
}

// changed are the modules of before that have another version after.
func changed(before, after map[string]string) (out []string) {
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			out = append(out, path+" "+before[path]+" => "+after[path])
		}
	}
	return out
}

// create makes the project, and returns the versions that its go.mod names.
func (p project) create(t *testing.T, dir string, env []string) map[string]string {
	t.Helper()
	imports := []string{"k8s.io/api/core/v1", "k8s.io/client-go/kubernetes"}
	get := []string{"get", "k8s.io/api@" + p.clientGo, "k8s.io/apimachinery@" + p.clientGo, "k8s.io/client-go@" + p.clientGo}
	if p.controllerRuntime != "" {
		imports, get = append(imports, "sigs.k8s.io/controller-runtime"), append(get, "sigs.k8s.io/controller-runtime@"+p.controllerRuntime)
	}
	if p.otel != "" {
		imports, get = append(imports, "go.opentelemetry.io/otel"), append(get, "go.opentelemetry.io/otel@"+p.otel)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\n\n"+blank(imports)+"\nfunc main() {}\n")
	run(t, dir, env, "go", "mod", "init", "example.com/consumer")
	run(t, dir, env, "go", get...)
	run(t, dir, env, "go", "mod", "tidy")
	return versions(read(t, dir, "go.mod"))
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
