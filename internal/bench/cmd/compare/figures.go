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
func (c *comparison) figure(l load, of column, subject string) bench.Figure {
	return c.of(fmt.Sprintf("%d runs%s: %s", c.Runs, l.name, of.measure), of.unit, subject)
}

// ratio is the median of a controller divided by the median of the careful one.
func (c *comparison) ratio(l load, of column, subject string) float64 {
	return c.figure(l, of, subject).Median / c.figure(l, of, careful).Median
}

// exactly is a figure without a spread.
func exactly(measure, unit, subject string, v float64) bench.Figure {
	return bench.Figure{Measure: measure, Unit: unit, Subject: subject, Median: v, Least: v, Most: v}
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
