// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilm_IsAnSVGThatEndsWithTheLastFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(film)
		s := f.screen()
		for _, phase := range []string{"(created)", "Running", "R&D <script>", "Succeeded"} {
			s.draw(func(width int, coloured bool) []string {
				return render([]row{{name: "happy", phase: phase, tone: good}}, "a note", width, coloured)
			})
			<-time.After(400 * time.Millisecond)
		}
		svg := string(f.svg())
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, svg)
		}
		assert.NotContains(t, svg, "Running", "a frame less than half a second after the previous one is dropped")
		assert.NotContains(t, svg, "<script>")
		assert.Regexp(t, `<tspan x="\d+" class="c32">Succeeded</tspan>`, svg)
		groups := strings.Split(svg, "<g")
		require.Len(t, groups, 4, "three frames")
		assert.Contains(t, groups[1], `visibility="hidden"><set attributeName="visibility" to="visible" begin="loop.begin+0.0s" dur="0.8s"/>`)
		assert.Contains(t, groups[2], `begin="loop.begin+0.8s" dur="0.4s"/>`)
		assert.True(t, strings.HasPrefix(groups[3], "><animate"), "the last frame is visible where nothing is animated")
		assert.Contains(t, groups[3], `dur="6.2s"`)
	})
}

func TestFilm_CutsWhatStandsStill(t *testing.T) {
	f := &film{frames: []frame{
		{0, []string{"a  Running  0s"}},
		{time.Second, []string{"a  Running  1s"}},
		{30 * time.Second, []string{"a  Running  30s"}},
		{31 * time.Second, []string{"a  Cancelled  31s"}},
		{32 * time.Second, []string{"a  Gone  32s"}},
	}}
	assert.Equal(t, []frame{
		{0, []string{"a  Running  0s"}},
		{2 * time.Second, []string{"a  Cancelled  31s"}},
		{3 * time.Second, []string{"a  Gone  32s"}},
	}, f.shown(), "a table in which only ages change is shown for two seconds")
}

func TestCells_KeepTheirColumns(t *testing.T) {
	tests := map[string]struct{ line, want, reason string }{
		"columns":  {"a b  c", `<tspan x="8">a b</tspan><tspan x="48">c</tspan>`, "two blanks end a cell, one does not"},
		"a colour": {"a  \x1b[32mok\x1b[0m  z", `<tspan x="8">a</tspan><tspan x="32" class="c32">ok</tspan><tspan x="64">z</tspan>`, "an escape takes no column"},
		"runes":    {"run-…  z", `<tspan x="8">run-…</tspan><tspan x="64">z</tspan>`, "a column is a character, not a byte"},
		"markup":   {"<a>  &", `<tspan x="8">&lt;a&gt;</tspan><tspan x="48">&amp;</tspan>`, "a text is not markup"},
		"nothing":  {"", "", "an empty line has no cell"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, cells(tt.line), tt.reason)
		})
	}
}
