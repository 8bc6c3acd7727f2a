// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// counted is the code of a subject: a file, without some of its declarations.
type counted struct {
	subject, file string
	without       []string
}

// code is what each subject writes for a Job that runs once and whose result is
// not lost, a status and an Event. It leaves out the Job's template and the
// conditions, which are the work of the controller, and what the examples do
// not have: Secrets, suspending, cancelling, the retention of runs. The
// examples' set-up counts, the careful controller's does not.
var code = []counted{
	{careful, "../demo/baseline/careful.go", []string{"refuse", "suspend", "stop"}},
	{careful, "../demo/baseline/job.go", []string{
		"withoutJob", "cancelled", "withoutSecret", "newJob", "conditions", "Succeed", "expire",
	}},
	{onejob, "../../examples/controller-runtime/onejob/reconcile.go", []string{"newJob"}},
	{first, "../../examples/controller-runtime/first/reconcile.go", nil},
}

// unlike ends the lines of the careful controller for what the examples do not
// have.
const unlike = "+more"

// lines counts the lines of code of each subject: no blanks, no comments, no
// imports, and no marked lines. The directory is internal/bench.
func lines(dir string) ([]bench.Figure, error) {
	var all []bench.Figure
	for _, of := range code {
		n, err := of.lines(dir)
		if err != nil {
			return nil, err
		}
		last := len(all) - 1
		if last >= 0 && all[last].Subject == of.subject {
			n += all[last].Median
			all = all[:last]
		}
		all = append(all, exactly(ownLines, "lines", of.subject, n))
	}
	return all, nil
}

func (of counted) lines(dir string) (n float64, err error) {
	text, err := os.ReadFile(filepath.Join(dir, of.file))
	if err != nil {
		return 0, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, of.file, text, 0)
	if err != nil {
		return 0, err
	}
	rows := strings.Split(string(text), "\n")
	for _, d := range file.Decls {
		if of.leavesOut(d) {
			continue
		}
		for _, row := range rows[files.Position(d.Pos()).Line-1 : files.Position(d.End()).Line] {
			row = strings.TrimSpace(row)
			if row != "" && !strings.HasPrefix(row, "//") && !strings.HasSuffix(row, unlike) {
				n++
			}
		}
	}
	return n, nil
}

func (of counted) leavesOut(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return slices.Contains(of.without, d.Name.Name)
	case *ast.GenDecl:
		return d.Tok == token.IMPORT
	}
	return false
}
