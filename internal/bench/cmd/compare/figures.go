// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/proompteng/controllerkit/internal/bench"
)

// comparison is the content of compare.json.
type comparison struct {
	Runs, Rounds int
	About        []string // the peers, the machine
	Figures      []bench.Figure

	missing error // figures that were asked for and not measured
}

// of returns the figure of a subject, or notes that it is missing.
func (c *comparison) of(measure, unit, subject string) bench.Figure {
	for _, f := range c.Figures {
		if f.Measure == measure && f.Unit == unit && f.Subject == subject {
			return f
		}
	}
	err := fmt.Errorf("%s of %s was not measured: %s", unit, subject, measure)
	c.missing = errors.Join(c.missing, err)
	return bench.Figure{}
}

// figure returns the number of a column.
func (c *comparison) figure(l load, of cost, subject string) bench.Figure {
	return c.of(c.measureOf(l, of.measure), of.unit, subject)
}

// measureOf is the name of a measure in a load.
func (c *comparison) measureOf(l load, what string) string {
	return fmt.Sprintf("%d runs%s: %s", c.Runs, l.name, what)
}

// ratio is the median of the example divided by the median of another.
func (c *comparison) ratio(l load, of cost, to string) float64 {
	return c.figure(l, of, ours).Median / c.figure(l, of, to).Median
}

// ratioWithGoal formats the ratio to the careful controller and says whether it
// meets the goal.
func (c *comparison) ratioWithGoal(l load, of cost, to string) string {
	ratio := c.ratio(l, of, to)
	if ratio > of.goal {
		return fmt.Sprintf("%.2fx > %.2fx", ratio, of.goal)
	}
	return fmt.Sprintf("%.2fx <= %.2fx", ratio, of.goal)
}

// rate is how many of the runs of all rounds went wrong.
func (c *comparison) rate(l load, what loss, subject string) string {
	all := float64(c.Runs * c.Rounds)
	if what.of != "" {
		all = c.of(c.measureOf(l, what.of), "runs", subject).Total
	}
	return fmt.Sprintf("%.0f of %.0f", c.of(c.measureOf(l, what.measure), "runs", subject).Total, all)
}

// exactly is a figure without a spread.
func exactly(measure, unit, subject string, v float64) bench.Figure {
	return bench.Figure{
		Measure: measure, Unit: unit, Subject: subject, Median: v, Least: v, Most: v, Total: v,
	}
}

// cell formats a figure: the median, and the spread if the rounds differ.
func cell(f bench.Figure, digits int) string {
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	median, least, most := format(f.Median), format(f.Least), format(f.Most)
	if least == most {
		return median
	}
	return median + " (" + least + "-" + most + ")"
}
