// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWriter_IsNotMadeInAReconcile: a Writer remembers its last writes.
func TestWriter_IsNotMadeInAReconcile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	made := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !makesWriter(fn) {
				continue
			}
			made++
			assert.False(t, hasContext(fn), "%s: %s is called in each reconcile", name, fn.Name.Name)
		}
	}
	assert.NotZero(t, made)
}

// TestGuides_MakeNoWriterInAReconcile: readers copy what the guides show.
func TestGuides_MakeNoWriterInAReconcile(t *testing.T) {
	guides, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, guides)
	for _, name := range guides {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for i, block := range strings.Split(string(text), "```") {
			isCode := i%2 == 1
			if isCode && strings.Contains(block, "status.For") {
				assert.NotContains(t, block, "DeepCopy()", "%s: the block of a reconcile", name)
			}
		}
	}
}

// makesWriter reports whether fn calls status.ForClient or status.ForResource.
func makesWriter(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if ok && strings.HasPrefix(selector.Sel.Name, "For") {
			of, _ := selector.X.(*ast.Ident)
			found = found || of != nil && of.Name == "status"
		}
		return true
	})
	return found
}

// hasContext reports whether fn has a parameter called ctx.
func hasContext(fn *ast.FuncDecl) bool {
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == "ctx" {
				return true
			}
		}
	}
	return false
}
