// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	"strconv"
	"strings"
	"testing"

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

// markdown returns the table with the counts of each contestant.
func markdown(all []counts) string {
	columns := append([]string{played, right}, wrongs()...)
	lines := []string{
		"| controller | pattern | " + strings.Join(columns, " | ") + " |",
		"|---|---|" + strings.Repeat("--:|", len(columns)),
	}
	for i, c := range contestants() {
		for _, p := range patterns() {
			cells := []string{c.name, string(p)}
			for _, column := range columns {
				cells = append(cells, strconv.Itoa(all[i][p][column]))
			}
			lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
