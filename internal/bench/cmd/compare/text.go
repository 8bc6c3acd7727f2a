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
	careful = "careful"
	usual   = "usual"
	cached  = "careful without the live read"
)

type controller struct{ Name, Subject string }

// controllers are compared in this order.
var controllers = []controller{{"usual", usual}, {"careful", careful}, {"this example", ours}}

// loss is a number of runs that went wrong, of all or of some.
type loss struct{ Head, measure, of string }

// cost is one number of each controller in each load. The goal is for the ratio
// of the example to the careful controller.
type cost struct {
	Head, measure, unit string
	digits              int
	goal                float64
}

var (
	losses = []loss{
		{"results lost (goal 0)", "results lost", ""},
		{"second Jobs (goal 0)", "run more than once", ""},
		{"Events lost of failures", "failures without an event", "failed"},
	}
	costs = []cost{
		{"requests a run", "requests a run", bench.Requests, 2, 1.05},
		{"writes a run", "writes a run", bench.Requests, 2, 0.90},
		{"CPU, s", "CPU time", "s", 2, 1},
		{"memory, MiB", "peak memory", "MiB", 0, 1.05},
	}
)

// load is a load of runs, by its title and by the rest of its name. All has the
// careful controller without the live read too.
type load struct {
	Title, short, name string
	All                bool
}

var loads = []load{
	{"nothing fails", "nothing fails", "", true},
	{"the API server is killed 3 times", "API server killed", ", API server killed 3 times", false},
	{"the controller is killed 3 times", "controller killed", ", controller killed 3 times", true},
	{"the leader of two is killed", "leader killed", ", the leader of two killed", false},
	{"nothing fails, no Job TTL of 0", "", ", no Job TTL of 0", false},
}

// layout is the template of COMPARE.txt.
//
//go:embed compare.tmpl
var layout string

// text returns COMPARE.txt.
func (c *comparison) text() (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"rate": c.rate,
		"cell": func(l load, of cost, subject string) string {
			return cell(c.figure(l, of, subject), of.digits)
		},
		"ratio": c.ratioWithGoal,
		"row":   c.row,
		"plans": c.plans,
		"lines": func(subject string) string { return cell(c.of(ownLines, "lines", subject), 0) },
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

// Loads, Controllers, Losses, Costs and Wrongs are the rows and columns of the
// tables, and Cached the subject of the footnote.
func (c *comparison) Loads() []load { return loads }

func (c *comparison) Controllers() []controller { return controllers }

func (c *comparison) Losses() []loss { return losses }

func (c *comparison) Costs() []cost { return costs }

func (c *comparison) Wrongs() []string { return wrongs }

func (c *comparison) Cached() string { return cached }

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
