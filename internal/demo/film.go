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

// In pixels.
const (
	charWidth = 8
	rowHeight = 20
)

// film prints lines and records them, as an SVG that plays in a browser and
// shows all lines where it does not.
type film struct {
	out     io.Writer
	started time.Time
	shots   []shot
}

// shot is a line, from the moment at which it was printed.
type shot struct {
	At    float64 // in seconds
	Y     int
	Cells []cell
}

// cell is a column of a line. Each has its own x, because not every renderer
// keeps blanks or has a font in which all characters are equally wide.
type cell struct {
	X           int
	Class, Text string
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

// column is a text that ends at two blanks or more.
var column = regexp.MustCompile(`\S+(?: \S+)*`)

func (f *film) add(at time.Duration, line string) {
	s := shot{At: at.Seconds(), Y: (len(f.shots) + 1) * rowHeight}
	for _, found := range column.FindAllStringIndex(line, -1) {
		text := line[found[0]:found[1]]
		before := utf8.RuneCountInString(line[:found[0]])
		s.Cells = append(s.Cells, cell{X: (before + 1) * charWidth, Class: classOf(text), Text: text})
	}
	f.shots = append(f.shots, s)
}

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

// write draws the film. It begins again five seconds after its last line.
func (f *film) write(out io.Writer) error {
	picture, err := template.New("film").Parse(source)
	if err != nil {
		return err
	}
	last := f.shots[len(f.shots)-1]
	return picture.Execute(out, map[string]any{
		"Shots": f.shots, "Height": last.Y + rowHeight, "Length": last.At + 5,
	})
}
