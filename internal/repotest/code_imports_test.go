// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// closures limits the non-standard packages that an import of each package
// compiles. A subpackage that is not listed has the limit of its parent.
var closures = map[string]int{
	"":                 0,
	"status":           85,
	"events":           85,
	"jobgc":            85,
	"jobgc/jobgctest":  175, // client-go's fakes, in tests only
	"metrics":          15,
	"metrics/prom":     110,
	"metrics/kube":     185, // client-go's work queue, leader election and apimachinery's request parsing
	"metrics/tracelog": 20,
	"rollout":          85,
}

//req:shows A2
func TestImportingAPackageCostsItsOwnClosureOnly(t *testing.T) {
	for _, p := range public(t) {
		budget, ok := closures[p.name()]
		for name := p.name(); !ok && name != ""; budget, ok = closures[name] {
			name = name[:max(strings.LastIndex(name, "/"), 0)]
		}
		var deps []string
		for _, d := range list(t, "-deps", p.ImportPath) {
			if !d.Standard && d.ImportPath != module && !strings.HasPrefix(d.ImportPath, module+"/") {
				deps = append(deps, d.ImportPath)
			}
		}
		t.Logf("%-20s %3d of %3d", p.name(), len(deps), budget)
		assert.LessOrEqual(t, len(deps), budget, "%s compiles %d packages of other modules, and %d are allowed: import fewer, or change closures in this file and CONTRIBUTING's Budgets\n%s",
			p.name(), len(deps), budget, strings.Join(deps, "\n"))
	}
}

//req:shows A2
func TestThePackagesDoNotImportOneAnother(t *testing.T) {
	for _, p := range public(t) {
		own, _, _ := strings.Cut(p.name(), "/")
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, module+"/")
			top, _, _ := strings.Cut(name, "/")
			if ours {
				assert.Contains(t, []string{own, "internal"}, top, "%s imports %s; pass the value in, or move shared code to internal", p.ImportPath, imported)
			}
			assert.NotContains(t, imported, "sigs.k8s.io/controller-runtime", "%s: take an interface or a function that controller-runtime has", p.ImportPath)
			assert.NotContains(t, imported, "argoproj", "%s: render with unstructured objects", p.ImportPath)
		}
	}
}

// TestTheExampleControllerImportsEachPackage: its program, not its tests.
//
//req:shows A1
func TestTheExampleControllerImportsEachPackage(t *testing.T) {
	var sources strings.Builder
	for name, body := range tracked(t, "examples/agentrun/*.go") {
		if !strings.HasSuffix(name, "_test.go") {
			sources.Write(body)
		}
	}
	for _, name := range []string{"status", "events", "jobgc", "metrics", "rollout"} {
		assert.Regexp(t, `\t"`+module+"/"+name+`[/"]`, sources.String(), "no Go file of examples/agentrun imports %s, or a package of it; the example composes all packages", name)
	}
}
