// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestErrors_NameTheirPackageAndCall: the prefix of an error is the package's
// path below the module. The call that failed may follow, as its name with a
// small first letter: "jobgc/hold: drop: ".
func TestErrors_NameTheirPackageAndCall(t *testing.T) {
	packages := public(t)
	prefixes := map[string]bool{}
	for _, p := range packages {
		prefixes[p.name()], prefixes[path.Base(p.name())] = true, true
	}
	segment := regexp.MustCompile(`^([a-z][A-Za-z/]*): `)
	for _, p := range packages {
		src := parse(t, p)
		calls := map[string]bool{}
		for _, f := range src.code {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					calls[strings.ToLower(d.Name.Name[:1])+d.Name.Name[1:]] = true
				}
			}
		}
		for _, f := range src.code {
			for _, text := range errorTexts(t, f) {
				m := segment.FindStringSubmatch(text)
				if m == nil || !prefixes[m[1]] {
					continue
				}
				assert.Equal(t, p.name(), m[1], "the prefix of %q in package %s", text, p.name())
				if call := segment.FindStringSubmatch(text[len(m[0]):]); call != nil {
					assert.Contains(t, calls, call[1], "%q names a function that package %s does not have", text, p.name())
				}
			}
		}
	}
}

// errorTexts are the literal texts and formats of the errors of a file.
func errorTexts(t *testing.T, f *ast.File) (all []string) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		fn, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || fn.Sel.Name != "Errorf" && fn.Sel.Name != "New" {
			return true
		}
		if from, ok := fn.X.(*ast.Ident); !ok || from.Name != "fmt" && from.Name != "errors" {
			return true
		}
		if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			all = append(all, text)
		}
		return true
	})
	return all
}
