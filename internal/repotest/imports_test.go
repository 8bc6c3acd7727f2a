// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	told := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[`(\\w+)`\\]\\(\\w+\\) \\| .* \\| (\\d+)(?:; endpoint (\\d+))? \\|$").FindAllStringSubmatch(read(t, "README.md"), -1) {
		told[row[1]] = row[2]
		if row[3] != "" {
			told[row[1]+"/prom"] = row[3]
		}
	}
	assert.Len(t, told, 6, "README's table has the imports of each package and of the endpoint")
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
		if cost, ok := told[p.name()]; ok {
			delete(told, p.name())
			assert.Equal(t, cost, strconv.Itoa(len(deps)), "the imports of %s in README's table", p.name())
		}
		assert.LessOrEqual(t, len(deps), budget, "%s compiles %d packages of other modules:\n%s", p.name(), len(deps), strings.Join(deps, "\n"))
	}
	assert.Empty(t, told, "README's table names a package that does not exist")
}

//req:shows A2
func TestThePackagesDoNotImportOneAnother(t *testing.T) {
	for _, p := range public(t) {
		own, _, _ := strings.Cut(p.name(), "/")
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, module+"/")
			top, _, _ := strings.Cut(name, "/")
			if ours {
				assert.Contains(t, []string{own, "internal"}, top, "%s imports %s", p.ImportPath, imported)
			}
			assert.NotContains(t, imported, "sigs.k8s.io/controller-runtime", p.ImportPath)
			assert.NotContains(t, imported, "argoproj", p.ImportPath)
		}
	}
}

// TestTheExampleControllerImportsEachPackage: its program, not its tests.
//
//req:shows A1
func TestTheExampleControllerImportsEachPackage(t *testing.T) {
	imported := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "examples", "agentrun"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			top, _, _ := strings.Cut(name, "/")
			imported[top] = imported[top] || ours
		}
		return nil
	})
	require.NoError(t, err)
	for _, name := range []string{"status", "events", "jobgc", "metrics", "rollout"} {
		assert.True(t, imported[name], "no Go file of examples/agentrun imports %s, or a package of it", name)
	}
}
