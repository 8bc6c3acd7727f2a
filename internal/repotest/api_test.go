// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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
	golden := filepath.Join(root, "internal", "testdata", "api.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"),
		"the exported API changed: review it, then run make api")
}

// TestTimeAndLogsComeFromTheCaller: a time is an argument and the context has
// the logger, so no option is a clock or a logger.
func TestTimeAndLogsComeFromTheCaller(t *testing.T) {
	handed := regexp.MustCompile(`\b(Clock|Now func|Logger)\b`)
	for _, p := range public(t) {
		for _, decl := range exported(t, p) {
			assert.False(t, handed.MatchString(decl), "%s: %s", p.name(), decl)
		}
	}
}

// TestASmallSurface: every exported name is a promise. Enum constants, Err
// variables and methods do not count.
func TestASmallSurface(t *testing.T) {
	const most = 15
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
		t.Logf("%-20s %2d %s", p.name(), len(names), strings.Join(names, " "))
		assert.LessOrEqual(t, len(names), most, "%s exports %s", p.name(), strings.Join(names, " "))
	}
}

// exported lists the exported declarations of a package, one line each, sorted.
func exported(t *testing.T, p pkg) []string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	d, err := doc.NewFromFiles(fset, files, p.ImportPath)
	require.NoError(t, err)

	var out []string
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, s := range v.Decl.Specs {
				out = append(out, line(t, fset, v.Decl.Tok.String()+" ", s))
			}
		}
	}
	funcs := func(fs []*doc.Func) {
		for _, f := range fs {
			f.Decl.Body = nil
			out = append(out, line(t, fset, "", f.Decl))
		}
	}
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
		for _, s := range typ.Decl.Specs {
			out = append(out, line(t, fset, "type ", s))
		}
	}
	slices.Sort(out)
	return out
}

func line(t *testing.T, fset *token.FileSet, prefix string, node any) string {
	t.Helper()
	stripDocs(node)
	var b bytes.Buffer
	require.NoError(t, (&printer.Config{Mode: printer.RawFormat}).Fprint(&b, fset, node))
	return prefix + strings.Join(strings.Fields(b.String()), " ")
}

// stripDocs removes comments, which are not part of the API.
func stripDocs(node any) {
	n, ok := node.(ast.Node)
	if !ok {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}
