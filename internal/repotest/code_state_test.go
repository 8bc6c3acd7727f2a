// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed is the source of a package and of its tests.
type parsed struct {
	fset        *token.FileSet
	code, tests []*ast.File
}

func parse(t *testing.T, p pkg) parsed {
	t.Helper()
	out := parsed{fset: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		f, err := parser.ParseFile(out.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			out.tests = append(out.tests, f)
		} else {
			out.code = append(out.code, f)
		}
	}
	require.NotEmpty(t, out.code, "%s has no Go file; delete the folder", p.ImportPath)
	return out
}

// TestNothingIsLeftRunning: the goroutines of a package end with the call that
// started them. Linters refuse state (gochecknoglobals), init (gochecknoinits)
// and panic (forbidigo).
func TestNothingIsLeftRunning(t *testing.T) {
	for _, p := range public(t) {
		src := parse(t, p)
		for _, f := range src.code {
			for _, d := range f.Decls {
				if function, ok := d.(*ast.FuncDecl); ok {
					src.waits(t, function)
				}
			}
		}
	}
}

// waits checks that the goroutines of a function end with its call.
func (p parsed) waits(t *testing.T, d *ast.FuncDecl) {
	t.Helper()
	// These block until their goroutines have ended. What startWorkers of events
	// returns does, and its only caller calls it.
	waits := slices.Contains([]string{"Start", "Serve", "RunWith", "run", "startWorkers"}, d.Name.Name)
	ast.Inspect(d, func(n ast.Node) bool {
		_, started := n.(*ast.GoStmt)
		if call, ok := n.(*ast.CallExpr); ok {
			started = strings.HasSuffix(types.ExprString(call.Fun), ".Go")
		}
		if started {
			assert.True(t, waits, "%s: a goroutine outlives the call that starts it; wait for it in that call, and add the function to waits in this test", p.fset.Position(n.Pos()))
		}
		return true
	})
}

// TestWhatIsExportedRunsInAnExample: an Example with output calls each
// function, and at least one method of each type with methods.
func TestWhatIsExportedRunsInAnExample(t *testing.T) {
	for _, p := range public(t) {
		src := parse(t, p)
		d, err := doc.NewFromFiles(src.fset, src.code, p.ImportPath)
		require.NoError(t, err)
		used := src.usedInExamples()
		funcs := slices.Clone(d.Funcs)
		for _, typ := range d.Types {
			funcs = append(funcs, typ.Funcs...)
			methods := slices.DeleteFunc(slices.Clone(typ.Methods), func(m *doc.Func) bool { return m.Name == "String" || m.Name == "Error" }) // called by fmt
			called := func(m *doc.Func) bool { return used[m.Name] }
			assert.True(t, len(methods) == 0 || slices.ContainsFunc(methods, called), "no Example with output calls a method of %s.%s; write one", p.name(), typ.Name)
		}
		for _, f := range funcs {
			// An Example has no *testing.T to call a part of a test with.
			ofTest := strings.HasPrefix(types.ExprString(f.Decl.Type), "func(t *testing.T")
			assert.True(t, used[f.Name] || ofTest, "no Example with output calls %s.%s; write one", p.name(), f.Name)
		}
	}
}

// usedInExamples returns the names that Examples with output select.
func (p parsed) usedInExamples() map[string]bool {
	used := map[string]bool{}
	for _, e := range doc.Examples(p.tests...) {
		if e.Output == "" {
			continue
		}
		ast.Inspect(e.Code, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	return used
}
