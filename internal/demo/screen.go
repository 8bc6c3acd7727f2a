// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// screen is a terminal whose last lines are drawn over. It changes no mode of
// the terminal and keeps the cursor below its lines, so that the program can
// end at any time and leave the terminal usable.
type screen struct {
	out      io.Writer
	size     func() (width, height int, err error)
	coloured bool
	drawn    []string
	width    int
	film     *film // nil unless the table is recorded
}

// screenOf returns nil if out is not a terminal that can be drawn over. Then
// lines are printed one after the other.
func screenOf(out io.Writer, getenv func(string) string) *screen {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "" || getenv("TERM") == "dumb" {
		return nil
	}
	return &screen{
		out: out, coloured: getenv("NO_COLOR") == "", // https://no-color.org
		size: func() (int, int, error) { return term.GetSize(int(f.Fd())) },
	}
}

// fits reports whether so many lines can be drawn over. Lines that have left
// the screen cannot.
func (s *screen) fits(lines int) bool {
	width, height, err := s.size()
	return err == nil && width > 0 && height > lines
}

// draw draws lines over the previous lines, unless they are the same.
func (s *screen) draw(render func(width int, coloured bool) []string) {
	width, _, err := s.size()
	if err != nil {
		return
	}
	lines := render(width, s.coloured)
	if width == s.width && slices.Equal(lines, s.drawn) {
		return
	}
	var b strings.Builder
	// After a resize the terminal has wrapped the lines again: their start is
	// unknown.
	if len(s.drawn) > 0 && width == s.width {
		fmt.Fprintf(&b, "\x1b[%dA", len(s.drawn))
	}
	for _, l := range lines {
		b.WriteString("\r" + l + "\x1b[K\n")
	}
	s.drawn, s.width = lines, width
	if s.film != nil {
		s.film.add(lines)
	}
	_, _ = io.WriteString(s.out, b.String())
}
