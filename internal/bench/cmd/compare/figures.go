// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/proompteng/controllerkit/internal/bench"
)

// comparison is the content of compare.tsv.
type comparison struct {
	runs, rounds int
	about        []string // the peers, the machine
	figures      []bench.Figure
}

const (
	sizes   = "# %d runs, %d rounds"
	columns = "measure\tunit\tsubject\tmedian\tleast\tmost"
)

// encode returns the format of compare.tsv. The library is the subject "ours".
func (c comparison) encode() string {
	var b strings.Builder
	fmt.Fprintf(&b, sizes+"\n", c.runs, c.rounds)
	for _, line := range c.about {
		b.WriteString("# " + line + "\n")
	}
	b.WriteString(columns + "\n")
	for _, f := range c.figures {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%v\t%v\t%v\n", f.Measure, f.Unit, orOurs(f.Subject), f.Median, f.Least, f.Most)
	}
	return b.String()
}

func orOurs(subject string) string {
	if subject == "" {
		return ours
	}
	return subject
}

// decode reads the format of encode.
func decode(text string) (comparison, error) {
	var c comparison
	head, body, found := strings.Cut(text, columns+"\n")
	if _, err := fmt.Sscanf(head, sizes+"\n", &c.runs, &c.rounds); err != nil || !found {
		return c, errors.New("compare.tsv: it does not begin with its sizes and columns")
	}
	for line := range strings.Lines(head[strings.Index(head, "\n")+1:]) {
		c.about = append(c.about, strings.TrimSpace(strings.TrimPrefix(line, "# ")))
	}
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 6 {
			return c, fmt.Errorf("compare.tsv: %q has %d columns", line, len(cells))
		}
		f := bench.Figure{Measure: cells[0], Unit: cells[1], Subject: cells[2]}
		for i, into := range []*float64{&f.Median, &f.Least, &f.Most} {
			var err error
			if *into, err = strconv.ParseFloat(cells[3+i], 64); err != nil {
				return c, fmt.Errorf("compare.tsv: %w", err)
			}
		}
		c.figures = append(c.figures, f)
	}
	return c, nil
}

// of returns the figure of a subject.
func (c comparison) of(measure, unit, subject string) (bench.Figure, error) {
	for _, f := range c.figures {
		if f.Measure == measure && f.Unit == unit && f.Subject == subject {
			return f, nil
		}
	}
	return bench.Figure{}, fmt.Errorf("%s of %s was not measured: %s", unit, subject, measure)
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
