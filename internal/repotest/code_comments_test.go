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
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				n.Body = nil // the comments in it document nothing
			case *ast.TypeSpec:
				n.Comment = nil // at the end of a line
			case *ast.ValueSpec:
				n.Comment = nil
			case *ast.ImportSpec:
				n.Comment = nil
			case *ast.Field:
				n.Comment = nil
			case *ast.Comment:
				at := fset.Position(n.Pos())
				width := 4*(at.Column-1) + utf8.RuneCountInString(n.Text)
				assert.False(t, width > 80 && breakable(n.Text), "%s:%d: a doc comment has %d columns; wrap it at 80", name, at.Line, width)
			}
			return true
		})
	}
}

var markup = regexp.MustCompile(`^//(\S| \+|\t|  +[^ \-*0-9]| \[[^\]]+\]: | # )`)

// breakable reports whether a line of a comment is prose that can be wrapped:
// not a directive, code, link or heading.
func breakable(line string) bool {
	return !markup.MatchString(line) && strings.Contains(strings.TrimPrefix(line, "// "), " ")
}
