// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	number int
	where  string // file:line
	in     string // the function
	change string // what was done to which code
}

// key names a mutant in the list of survivors. It has no line, so that the list
// stays true while code moves.
func (m mutant) key() string { return m.in + ": " + m.change }

// edit replaces the bytes from at to until.
type edit struct {
	at, until int
	text      string
}

// file is a file whose mutants are switched by their number: all of them are
// in one program.
type file struct {
	set     *token.FileSet
	name    string
	source  []byte
	in      string
	before  []edit // in the order of the walk: outer ones first
	after   []edit // in the same order, and applied in the reverse one
	mutants *[]mutant
}

// mutate returns the file with a switch for each mutant.
func mutate(path string, source []byte, mutants *[]mutant) ([]byte, error) {
	f := &file{set: token.NewFileSet(), name: filepath.Base(path), source: source, mutants: mutants}
	parsed, err := parser.ParseFile(f.set, path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		f.in = function.Name.Name
		ast.Inspect(function.Body, f.visit)
	}
	return f.apply(), nil
}

func (f *file) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.BinaryExpr:
		f.binary(n)
	}
	return true
}

// statements drops assignments.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.wrap(s, "drop "+f.text(s), "if !zzMutant(%d) { ", " }")
			}
		case *ast.IncDecStmt:
			f.wrap(s, "drop "+f.text(s), "if !zzMutant(%d) { ", " }")
		}
	}
}

// condition negates a condition that is not a comparison.
func (f *file) condition(e ast.Expr) {
	_, binary := e.(*ast.BinaryExpr)
	if !binary {
		f.wrap(e, "negate "+f.text(e), "(zzMutant(%d) != (", "))")
	}
}

// cases drops the cases of a switch over a value, and negates conditions.
func (f *file) cases(s *ast.SwitchStmt) {
	for _, statement := range s.Body.List {
		clause, ok := statement.(*ast.CaseClause)
		if !ok {
			continue
		}
		for _, e := range clause.List {
			switch {
			case s.Tag == nil:
				f.condition(e)
			case len(clause.Body) > 0:
				f.wrap(e, "drop case "+f.text(e), "zzDrop(%d, ", ")")
			}
		}
	}
}

func (f *file) binary(b *ast.BinaryExpr) {
	text := f.text(b)
	switch b.Op {
	case token.LAND, token.LOR:
		f.swap(b)
		f.condition(b.X)
		f.condition(b.Y)
	case token.EQL, token.NEQ:
		f.wrap(b, "negate "+text, "(zzMutant(%d) != (", "))")
	case token.LSS, token.GTR:
		f.wrap(b, "negate "+text, "(zzMutant(%d) != (", "))")
		f.wrap(b, "with equality "+text, "(zzMutant(%d) && "+f.equal(b)+" || ", ")")
	case token.LEQ, token.GEQ:
		f.wrap(b, "negate "+text, "(zzMutant(%d) != (", "))")
		f.wrap(b, "without equality "+text, "(!(zzMutant(%d) && "+f.equal(b)+") && ", ")")
	default: // arithmetic
	}
}

func (f *file) equal(b *ast.BinaryExpr) string { return f.text(b.X) + " == " + f.text(b.Y) }

// swap makes an or of an and, and the reverse.
func (f *file) swap(b *ast.BinaryExpr) {
	name := map[token.Token]string{token.LAND: "zzAnd", token.LOR: "zzOr"}[b.Op]
	at := f.offset(b.OpPos)
	f.wrap(b, "swap operator of "+f.text(b), name+"(%d, func() bool { return ", " })")
	f.before = append(f.before, edit{at, at + len(b.Op.String()), "}, func() bool { return "})
}

// wrap notes a mutant, and puts text around a node.
func (f *file) wrap(n ast.Node, change, before, after string) {
	number := len(*f.mutants) + 1
	at := f.offset(n.Pos())
	until := f.offset(n.End())
	*f.mutants = append(*f.mutants, mutant{
		number: number, in: f.in, change: change,
		where: fmt.Sprintf("%s:%d", f.name, f.set.Position(n.Pos()).Line),
	})
	f.before = append(f.before, edit{at, at, fmt.Sprintf(before, number)})
	f.after = append(f.after, edit{until, until, after})
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *file) text(n ast.Node) string {
	text := string(f.source[f.offset(n.Pos()):f.offset(n.End())])
	return strings.Join(strings.Fields(text), " ")
}

// apply makes the edits. At the same place, what ends comes before what begins.
func (f *file) apply() []byte {
	slices.Reverse(f.after)
	edits := slices.Concat(f.after, f.before)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, f.source[last:e.at]...)
		out = append(out, e.text...)
		last = e.until
	}
	return append(out, f.source[last:]...)
}

// switches is the file that the mutants need, without its package clause.
//
//go:embed switches.txt
var switches string
