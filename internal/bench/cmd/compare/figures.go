// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"

	"github.com/proompteng/controllerkit/internal/bench"
)

// comparison is the content of compare.json.
type comparison struct {
	Runs, Rounds int
	About        []string // the peers, the machine
	Figures      []bench.Figure
}

// of returns the figure of a subject.
func (c comparison) of(measure, unit, subject string) (bench.Figure, error) {
	for _, f := range c.Figures {
		if f.Measure == measure && f.Unit == unit && f.Subject == subject {
			return f, nil
		}
	}
	return bench.Figure{}, fmt.Errorf("%s of %s was not measured: %s", unit, subject, measure)
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
