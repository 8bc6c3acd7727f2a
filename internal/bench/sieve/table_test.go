// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	_ "embed"
	"io"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
)

// counts are the plans of one controller, by pattern and column of the page.
type counts map[pattern]map[string]int

// The first columns. The others are wrongs.
const (
	played = "plans"
	right  = "ended right"
)

func (c counts) add(p pattern, wrong []string) {
	if c[p] == nil {
		c[p] = map[string]int{}
	}
	c[p][played]++
	if len(wrong) == 0 {
		c[p][right]++
	}
	for _, what := range wrong {
		c[p][what]++
	}
}

// assertPlayed checks that there were plans of each pattern.
func (c counts) assertPlayed(t *testing.T) {
	t.Helper()
	for _, p := range patterns() {
		assert.Positive(t, c[p][played], p)
		t.Logf("%s: %v", p, c[p])
	}
}

// page is the template of the page.
//
//go:embed testdata/sieve.md.tmpl
var page string

// writePage writes the page with the counts of each contestant.
func writePage(to io.Writer, stories int, all []counts) error {
	var lines []string
	for i, c := range contestants() {
		for _, p := range patterns() {
			cells := []string{c.name, string(p)}
			for _, column := range append([]string{played, right}, wrongs()...) {
				cells = append(cells, strconv.Itoa(all[i][p][column]))
			}
			lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		}
	}
	t, err := template.New("").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(to, map[string]any{"Stories": stories, "Rows": lines})
}
