// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The picture's size, in characters and pixels.
const (
	filmWidth = roomy - 1
	filmRows  = 11
	charWidth = 8
	rowHeight = 20
)

// film is a recording of the table: an SVG that plays in a browser, and shows
// the last frame where it does not.
type film struct {
	began  time.Time
	frames []frame
}

type frame struct {
	at    time.Duration
	lines []string
}

// screen returns a screen that is drawn to the film alone.
func (f *film) screen() *screen {
	f.began = time.Now()
	return &screen{
		out: io.Discard, coloured: true, film: f,
		size: func() (int, int, error) { return filmWidth, filmRows + 1, nil },
	}
}

func (f *film) add(lines []string) {
	f.frames = append(f.frames, frame{time.Since(f.began), lines})
}

// still is how long the picture shows a table in which only the ages change.
const still = 2 * time.Second

// ages are the only part of the table that changes by itself.
var ages = regexp.MustCompile(`\b\d+s\b`)

// shown returns at most two frames a second. What would stand still is cut.
func (f *film) shown() (shown []frame) {
	var cut time.Duration
	var changed time.Duration // when more than an age did
	last := len(f.frames) - 1
	for i, fr := range f.frames {
		at := fr.at
		if i > 0 && fr.isSame(f.frames[i-1]) && i < last {
			continue
		}
		pause := at - changed
		changed = at
		if pause > still {
			cut += pause - still
		}
		fr.at = at - cut
		if len(shown) > 0 && fr.at-shown[len(shown)-1].at < 500*time.Millisecond && i < last {
			continue
		}
		shown = append(shown, fr)
	}
	return shown
}

// isSame reports whether two frames differ in ages only.
func (fr frame) isSame(other frame) bool {
	same := func(a, b string) bool { return ages.ReplaceAllString(a, "") == ages.ReplaceAllString(b, "") }
	return slices.EqualFunc(fr.lines, other.lines, same)
}

// svg draws the film, and the last frame for five seconds.
func (f *film) svg() []byte {
	shown := f.shown()
	var b bytes.Buffer
	width, height := filmWidth*charWidth, (filmRows+1)*rowHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d"`,
		width, height, width, height)
	b.WriteString(` role="img" aria-label="make demo">` + "\n")
	b.WriteString(`<style>
  rect { fill: #f6f8fa } text { fill: #1f2328; ` +
		`font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
  .c31 { fill: #cf222e } .c32 { fill: #1a7f37 } .c33 { fill: #9a6700 }
  @media (prefers-color-scheme: dark) {
    rect { fill: #161b22 } text { fill: #e6edf3 } ` +
		`.c31 { fill: #ff7b72 } .c32 { fill: #3fb950 } .c33 { fill: #d29922 }
  }
</style>
`)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6"/>`+"\n", width, height)
	const hide = `<set attributeName="visibility" to="hidden" begin="loop.begin" dur="%.1fs"/>`
	for i, fr := range shown {
		begin, last := fr.at, i == len(shown)-1
		if i == 0 {
			begin = 0
		}
		if last {
			length := begin + 5*time.Second
			fmt.Fprintf(&b, `<g><animate id="loop" attributeName="x" begin="0s;loop.end" dur="%.1fs"/>`,
				length.Seconds())
			if i > 0 {
				fmt.Fprintf(&b, hide, begin.Seconds())
			}
		} else {
			fmt.Fprintf(&b, `<g visibility="hidden">`+
				`<set attributeName="visibility" to="visible" begin="loop.begin+%.1fs" dur="%.1fs"/>`,
				begin.Seconds(), (shown[i+1].at - begin).Seconds())
		}
		for n, line := range fr.lines {
			fmt.Fprintf(&b, `<text y="%d">%s</text>`, (n+1)*rowHeight, cells(line))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// cells converts a line with the colours of a terminal into SVG. Each cell of
// the table has its own x, because not every renderer keeps blanks or has a
// font in which all characters are equally wide. Two blanks or more end a cell.
func cells(line string) string {
	line = strings.ReplaceAll(line, "\x1b[0m", "")
	colour := regexp.MustCompile("\x1b\\[\\d+m")
	cell := regexp.MustCompile("(?:\x1b\\[(\\d+)m)?([^ \x1b]+(?: [^ \x1b]+)*)")
	var b strings.Builder
	for _, m := range cell.FindAllStringSubmatchIndex(line, -1) {
		before := colour.ReplaceAllString(line[:m[0]], "")
		column := 1 + utf8.RuneCountInString(before)
		class := ""
		if m[2] >= 0 {
			class = fmt.Sprintf(` class="c%s"`, line[m[2]:m[3]])
		}
		text := html.EscapeString(line[m[4]:m[5]])
		fmt.Fprintf(&b, `<tspan x="%d"%s>%s</tspan>`, column*charWidth, class, text)
	}
	return b.String()
}
