// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// row is one sample in the table.
type row struct {
	name, phase string
	tone        tone
	age         time.Duration // negative until it is created
	job, event  string
}

// tone is how a phase is coloured.
type tone string

const (
	calm    tone = ""
	working tone = "33"
	good    tone = "32"
	bad     tone = "31"
)

// roomy is the smallest width at which the names of the Jobs are not cut.
const roomy = 110

// render draws the table for a terminal of that width: each line fits it, and
// leaves its last column free, where some terminals wrap.
func render(rows []row, note string, width int, coloured bool) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SAMPLE\tPHASE\tAGE\tJOB\tLAST EVENT")
	for _, r := range rows {
		job := r.job
		if width < roomy {
			job = cut(job, 14)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.name, r.phase, age(r.age), job, harmless(r.event))
	}
	_ = w.Flush() // a strings.Builder takes everything
	lines := strings.Split(b.String()+harmless(note), "\n")
	for i, l := range lines {
		lines[i] = cut(strings.TrimRight(l, " "), max(width-1, 1))
	}
	for i, r := range rows {
		if coloured && r.tone != calm {
			lines[i+1] = strings.Replace(lines[i+1], r.phase, "\x1b["+string(r.tone)+"m"+r.phase+"\x1b[0m", 1)
		}
	}
	return lines
}

// harmless makes each character that would move the cursor a blank.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// cut shortens text to that many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

func age(d time.Duration) string {
	if d < 0 {
		return ""
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}
