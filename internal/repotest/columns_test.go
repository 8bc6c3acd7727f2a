// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocCommentsFitEightyColumns: a tab counts as four columns. Code in a
// comment, and a single long word, may be longer.
func TestDocCommentsFitEightyColumns(t *testing.T) {
	for name, body := range tracked(t, "*.go") {
		if bytes.Contains(body[:min(len(body), 600)], []byte("DO NOT EDIT")) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, body, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, group := range docs(f) {
			for _, c := range group.List {
				at := fset.Position(c.Pos())
				width := 4*(at.Column-1) + utf8.RuneCountInString(c.Text)
				assert.False(t, width > 80 && breakable(c.Text), "%s:%d: a doc comment of %d columns", name, at.Line, width)
			}
		}
	}
}

// docs are the comments above declarations and fields.
func docs(f *ast.File) (all []*ast.CommentGroup) {
	add := func(g *ast.CommentGroup) {
		if g != nil {
			all = append(all, g)
		}
	}
	add(f.Doc)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			add(n.Doc)
		case *ast.FuncDecl:
			add(n.Doc)
			return false
		case *ast.TypeSpec:
			add(n.Doc)
		case *ast.ValueSpec:
			add(n.Doc)
		case *ast.Field:
			add(n.Doc)
		}
		return true
	})
	return all
}

var markup = regexp.MustCompile(`^//(\S| \+|\t|  +[^ \-*0-9]| \[[^\]]+\]: | # )`)

// breakable reports whether a line of a comment is prose that can be wrapped:
// not a directive, code, link or heading.
func breakable(line string) bool {
	return !markup.MatchString(line) && strings.Contains(strings.TrimPrefix(line, "// "), " ")
}
