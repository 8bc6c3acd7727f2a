// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
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

// roomy is the smallest width at which only the last column is cut.
const roomy = 110

// column is a column of the table. The last one gets the rest of the width.
type column struct {
	title string
	text  func(row) string
	most  int // columns of a terminal that is not roomy; 0 for what its longest text needs
	from  int // the narrowest terminal that shows it
}

func columns() []column {
	return []column{
		{title: "SAMPLE", text: func(r row) string { return r.name }},
		{title: "PHASE", text: func(r row) string { return r.phase }, most: 20},
		{title: "AGE", text: func(r row) string { return age(r.age) }, from: 40},
		{title: "JOB", text: func(r row) string { return r.job }, most: 14, from: 72},
		{title: "LAST EVENT", text: func(r row) string { return r.event }, from: 56},
	}
}

// render draws the table for a terminal of that width: each line fits it, and
// leaves its last column free, where some terminals wrap.
func render(rows []row, note string, width int, coloured bool) []string {
	var shown []column
	for _, c := range columns() {
		if width >= c.from {
			shown = append(shown, c)
		}
	}
	left, widths := max(width-1, 1), make([]int, len(shown))
	for i, c := range shown {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text(r)))
		}
		if c.most > 0 && width < roomy {
			widths[i] = min(widths[i], c.most)
		}
		widths[i] = max(min(widths[i], left), 0)
		left -= widths[i] + 2
	}
	line := func(cell func(column) string, tone tone) string {
		var b strings.Builder
		for i, c := range shown {
			if widths[i] == 0 {
				break
			}
			if i > 0 {
				b.WriteString("  ")
			}
			text := cut(cell(c), widths[i])
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if c.title == "PHASE" && coloured && tone != calm {
				text = "\x1b[" + string(tone) + "m" + text + "\x1b[0m"
			}
			b.WriteString(text + padding)
		}
		return strings.TrimRight(b.String(), " ")
	}
	lines := []string{line(func(c column) string { return c.title }, calm)}
	for _, r := range rows {
		lines = append(lines, line(func(c column) string { return c.text(r) }, r.tone))
	}
	return append(lines, cut(note, max(width-1, 1)))
}

// cut shortens text to that many characters. A character that would move the
// cursor becomes a blank.
func cut(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
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
