// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
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

type controller struct{ Name, Subject string }

// controllers are compared in this order.
var controllers = []controller{
	{"usual", usual}, {"careful", careful}, {"controllerkit", ours},
}

// column is one number of each controller in each load.
type column struct {
	Head, measure, unit string
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
type load struct{ Title, short, name string }

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
		"cell": func(l load, of column, subject string) string {
			return cell(c.figure(l, of, subject), of.digits)
		},
		"ratio": func(l load, of column) string { return fmt.Sprintf("%.2fx", c.ratio(l, of, ours)) },
		"row":   c.row,
	}).Parse(layout)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if err := errors.Join(t.Execute(w, c), w.Flush()); err != nil {
		return "", err
	}
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(b.String(), ""), c.missing
}

// Loads, Controllers, Losses and Costs are the rows and columns of the tables.
func (c *comparison) Loads() []load { return loads }

func (c *comparison) Controllers() []controller { return controllers }

func (c *comparison) Losses() []column { return losses }

func (c *comparison) Costs() []column { return costs }

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
