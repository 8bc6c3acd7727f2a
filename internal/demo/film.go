// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"regexp"
	"text/template"
	"time"
	"unicode/utf8"
)

//go:embed film.svg.tmpl
var source string

// The picture's size, in characters and pixels.
const (
	filmWidth = 110
	filmRows  = 14
	charWidth = 8
	rowHeight = 20
)

// film prints lines and records them: as an SVG that plays in a browser, and
// shows the last lines where it does not.
type film struct {
	out     io.Writer
	started time.Time
	shots   []shot
}

func newFilm(out io.Writer) *film { return &film{out: out, started: time.Now()} }

// say prints what happens, after its time.
func (f *film) say(format string, args ...any) {
	at := fmt.Sprintf("%5.1fs  ", time.Since(f.started).Seconds())
	f.line(at + fmt.Sprintf(format, args...))
}

func (f *film) line(line string) {
	fmt.Fprintln(f.out, line)
	f.add(time.Since(f.started), line)
}

// shot is a line, from the moment at which it was printed.
type shot struct {
	at    time.Duration
	Cells []cell
	At    string // in seconds from the first line, empty for none
	Key   string // the same as a part of the whole film
	Y     int
	Up    int // how far the lines have then moved
}

// cell is a column of a line. Each has its own x, because not every renderer
// keeps blanks or has a font in which all characters are equally wide.
type cell struct {
	X           int
	Class, Text string
}

// column is a text that ends at two blanks or more.
var column = regexp.MustCompile(`\S+(?: \S+)*`)

// loss is a number in the table.
var loss = regexp.MustCompile(`^(\d+) of \d+$`)

// classOf is the colour of a loss.
func classOf(text string) string {
	number := loss.FindStringSubmatch(text)
	switch {
	case number == nil:
		return ""
	case number[1] == "0":
		return "good"
	}
	return "bad"
}

func (f *film) add(at time.Duration, line string) {
	if utf8.RuneCountInString(line) > filmWidth {
		line = string([]rune(line)[:filmWidth-1]) + "…"
	}
	s := shot{at: at}
	for _, found := range column.FindAllStringIndex(line, -1) {
		text := line[found[0]:found[1]]
		before := utf8.RuneCountInString(line[:found[0]])
		s.Cells = append(s.Cells, cell{X: (before + 1) * charWidth, Class: classOf(text), Text: text})
	}
	f.shots = append(f.shots, s)
}

// save writes the film to a file, if it has a name.
func (f *film) save(file string) error {
	if file == "" {
		return nil
	}
	var svg bytes.Buffer
	err := f.write(&svg)
	if err != nil {
		return err
	}
	return os.WriteFile(file, svg.Bytes(), 0o644) //nolint:gosec // the file's mode in git
}

// still is how long the picture stays the same at most, except at its end.
const still = 2 * time.Second

// write draws the film.
func (f *film) write(out io.Writer) error {
	times := make([]time.Duration, len(f.shots))
	for i := 1; i < len(times); i++ {
		times[i] = times[i-1] + min(f.shots[i].at-f.shots[i-1].at, still)
	}
	last := len(times) - 1
	length := times[last] + 5*time.Second
	for i := range f.shots {
		s := &f.shots[i]
		if times[i] >= 100*time.Millisecond { // SMIL knows no duration of zero
			s.At = fmt.Sprintf("%.1f", times[i].Seconds())
		}
		s.Key = fmt.Sprintf("%.4f", times[i].Seconds()/length.Seconds())
		s.Y = (i + 1) * rowHeight
		s.Up = min(filmRows-1-i, 0) * rowHeight
	}
	picture, err := template.New("film").Parse(source)
	if err != nil {
		return err
	}
	return picture.Execute(out, map[string]any{
		"Shots": f.shots, "Last": f.shots[last],
		"Height": (filmRows + 1) * rowHeight, "Length": fmt.Sprintf("%.1f", length.Seconds()),
	})
}
