// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proompteng/controllerkit/internal/bench"
)

// ownLines names the figures that count code.
const ownLines = "lines of one's own"

// The examples whose lines are compared with the careful controller's.
const (
	first  = "first"
	onejob = "onejob"
)

// source is a file that is counted, without some of its functions.
type source struct {
	file    string
	without []string
}

// code is what each subject writes for a Job that runs once and whose result is
// not lost, a status and an Event. It leaves out the Job's template and the
// conditions, which are the work of the controller, and what the examples do
// not have: Secrets, suspending, cancelling, the times and the retention of
// runs, the end of one that the API server finds invalid. The examples' set-up
// counts, the careful controller's does not.
var code = []struct {
	subject string
	sources []source
}{
	{careful, []source{
		{"../demo/baseline/careful.go", []string{"refuse", "suspend", "stop"}},
		{"../demo/baseline/job.go", []string{
			"withoutJob", "cancelled", "withoutSecret", "newJob", "conditions", "Succeed", "expire",
		}},
	}},
	{onejob, []source{{"../../examples/controller-runtime/onejob/reconcile.go", []string{"newJob"}}}},
	{first, []source{{"../../examples/controller-runtime/first/reconcile.go", nil}}},
}

// unlike ends the lines of the careful controller for what the examples do not
// have.
const unlike = "+more"

// lines counts the lines of code of each subject: no blanks, no comments, no
// imports, and no marked lines. The directory is internal/bench.
func lines(dir string) ([]bench.Figure, error) {
	var all []bench.Figure
	for _, of := range code {
		total := 0
		for _, s := range of.sources {
			text, err := os.ReadFile(filepath.Join(dir, s.file))
			if err != nil {
				return nil, err
			}
			n, err := s.lines(string(text))
			if err != nil {
				return nil, err
			}
			total += n
		}
		all = append(all, exactly(ownLines, "lines", of.subject, float64(total)))
	}
	return all, nil
}

func (s source) lines(text string) (n int, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, s.file, text, 0)
	if err != nil {
		return 0, err
	}
	rows := strings.Split(text, "\n")
	missing := slices.Clone(s.without)
	for _, d := range file.Decls {
		name := nameOf(d)
		if slices.Contains(s.without, name) {
			missing = slices.DeleteFunc(missing, func(other string) bool { return other == name })
			continue
		}
		for _, row := range rows[files.Position(d.Pos()).Line-1 : files.Position(d.End()).Line] {
			if isCounted(d, strings.TrimSpace(row)) {
				n++
			}
		}
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("%s has no functions %v; correct what is not counted", s.file, missing)
	}
	return n, nil
}

// nameOf is the name of a function, or empty.
func nameOf(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return ""
}

func isCounted(d ast.Decl, row string) bool {
	if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
		return false
	}
	return row != "" && !strings.HasPrefix(row, "//") && !strings.HasSuffix(row, unlike)
}
