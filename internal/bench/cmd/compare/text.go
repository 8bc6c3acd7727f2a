// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The subjects, by their names in the tables of the benchmarks.
const (
	ours    = "ours"
	careful = "controller-runtime, careful"
	usual   = "controller-runtime"
)

// controllers are compared in this order.
var controllers = []struct{ name, subject string }{
	{"usual", usual}, {"careful", careful}, {"controllerkit", ours},
}

// column is one number of each controller in each load.
type column struct {
	head, measure, unit string
	digits              int
}

var (
	losses = []column{
		{"results lost", "results lost", "runs", 0},
		{"Jobs run twice", "run more than once", "runs", 0},
		{"events lost", "failures without an event", "runs", 0},
	}
	costs = []column{
		{"API writes a run", "writes a run", bench.Requests, 2},
		{"API requests a run", "requests a run", bench.Requests, 2},
		{"CPU, s", "CPU time", "s", 2},
		{"memory, MiB", "peak memory", "MiB", 0},
	}
)

// load is a load of runs, by its title and by the rest of its name.
type load struct{ title, short, name string }

var loads = []load{
	{"nothing fails", "nothing fails", ""},
	{"the API server is killed 3 times", "API server killed", ", API server killed 3 times"},
	{"the controller is killed 3 times", "controller killed", ", controller killed 3 times"},
	{"the leader of two is killed", "leader killed", ", the leader of two killed"},
	{"nothing fails, no Job TTL of 0", "", ", no Job TTL of 0"},
}

// layout is the template of COMPARE.txt.
//
//go:embed compare.tmpl
var layout string

// text returns COMPARE.txt.
func (c *comparison) text() (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"losses": func() string { return c.rows(losses, false) },
		"costs":  func() string { return c.rows(costs, true) },
		"row":    c.row,
	}).Parse(layout)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, c); err != nil {
		return "", err
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"), c.missing
}

// rows returns a row for each load and controller, and the ratios to the
// careful one if they are asked for.
func (c *comparison) rows(columns []column, ratios bool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "meanwhile\tcontroller")
	for _, col := range columns {
		fmt.Fprint(w, "\t"+col.head)
	}
	fmt.Fprintln(w)
	for _, l := range loads {
		title := l.title
		for _, of := range controllers {
			fmt.Fprint(w, title+"\t"+of.name)
			title = ""
			for _, col := range columns {
				fmt.Fprint(w, "\t"+cell(c.figure(l, col, of.subject), col.digits))
			}
			fmt.Fprintln(w)
		}
		if !ratios {
			continue
		}
		fmt.Fprint(w, "\tcontrollerkit / careful")
		for _, col := range columns {
			fmt.Fprintf(w, "\t%.2fx", c.ratio(l, col, ours))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a Builder returns no error
	return b.String()
}

// row returns the numbers of two peers, which may be empty, and ours.
func (c *comparison) row(title, measure, unit string, peers ...string) string {
	cells := []any{title}
	for _, subject := range append(peers, ours) {
		text := ""
		if subject != "" {
			text = cell(c.of(measure, unit, subject), 0)
		}
		cells = append(cells, text)
	}
	return fmt.Sprintf("%-57s%14s%14s%15s", cells...)
}
