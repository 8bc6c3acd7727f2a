// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPI compares every exported declaration with
// internal/testdata/api.golden, so that a change of the API is a diff to
// review. `make api` rewrites the file.
func TestAPI(t *testing.T) {
	var got bytes.Buffer
	for _, p := range public(t) {
		for _, decl := range exported(t, p) {
			fmt.Fprintf(&got, "%s: %s\n", p.name(), decl)
		}
	}
	const golden = "internal/testdata/api.golden"
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, golden), got.Bytes(), 0o644))
	}
	before, after := strings.Split(read(t, golden), "\n"), strings.Split(got.String(), "\n")
	without := func(all, some []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(some, line) })
	}
	const remedy = "%s: the exported API changed; review the difference, then run make api"
	assert.Empty(t, without(before, after), remedy, golden)
	assert.Empty(t, without(after, before), remedy, golden)
}

// TestTimeAndLogsComeFromTheCaller: a time is an argument and the context has
// the logger, so no option is a clock or a logger.
func TestTimeAndLogsComeFromTheCaller(t *testing.T) {
	forbidden := regexp.MustCompile(`\b(Clock|Now func|Logger)\b`)
	for _, p := range public(t) {
		for _, decl := range exported(t, p) {
			assert.False(t, forbidden.MatchString(decl),
				"%s: no option is a clock or a logger; take the time as an argument and the logger from the context: %s", p.name(), decl)
		}
	}
}

// TestASmallSurface: every exported name is a promise. Enum constants, Err
// variables and methods do not count. Nor do the types of package rollout that
// are a Rollout, which the API of Argo Rollouts prescribes.
func TestASmallSurface(t *testing.T) {
	const most = 15
	prescribed := []string{
		"Rollout", "RolloutList", "Spec", "Status", "Phase", "PauseCondition", "Strategy", "Canary", "Step", "Pause",
	}
	name := regexp.MustCompile(`^(func|type) (\w+)`)
	for _, p := range public(t) {
		var names []string
		for _, decl := range exported(t, p) {
			if m := name.FindStringSubmatch(decl); m != nil {
				names = append(names, m[2])
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		if p.name() == "rollout" {
			names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(prescribed, name) })
		}
		t.Logf("%-20s %2d %s", p.name(), len(names), strings.Join(names, " "))
		assert.LessOrEqual(t, len(names), most, "%s exports too many names; unexport one, or move some to a subpackage: %s", p.name(), strings.Join(names, " "))
	}
}

// exported lists the exported declarations of a package, one line each, sorted.
func exported(t *testing.T, p pkg) (all []string) {
	t.Helper()
	fset := token.NewFileSet()
	line := func(prefix string, node any) {
		var b bytes.Buffer
		require.NoError(t, (&printer.Config{Mode: printer.RawFormat}).Fprint(&b, fset, node))
		all = append(all, prefix+strings.Join(strings.Fields(b.String()), " "))
	}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")) {
					d.Body = nil
					line("", d)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					line(d.Tok.String()+" ", s)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
