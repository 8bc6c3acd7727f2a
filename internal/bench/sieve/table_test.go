// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package sieve_test

import (
	_ "embed"
	"fmt"
	"io"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
)

// row counts the plans of one pattern, and how they ended.
type row struct {
	generated, plans, right int
	wrong                   map[string]int
}

// counts are the plans of one controller.
type counts struct {
	controller string
	rows       map[pattern]*row
}

func newCounts(controller string) counts {
	c := counts{controller, map[pattern]*row{}}
	for _, p := range patterns() {
		c.rows[p] = &row{wrong: map[string]int{}}
	}
	return c
}

func (c *counts) add(p pattern, wrong []string) {
	r := c.rows[p]
	r.plans++
	if len(wrong) == 0 {
		r.right++
	}
	for _, what := range wrong {
		r.wrong[what]++
	}
}

// assertPlayed checks that there were plans of each pattern.
func (c *counts) assertPlayed(t *testing.T) {
	t.Helper()
	for p, r := range c.rows {
		assert.Positive(t, r.plans, p)
		t.Logf("%s: %+v", p, *r)
	}
}

// page is the template of the page.
//
//go:embed testdata/sieve.md.tmpl
var page string

// writePage writes the page with the counts of each controller.
func writePage(to io.Writer, all []counts) error {
	var lines []string
	for _, c := range all {
		for _, p := range patterns() {
			r := c.rows[p]
			line := fmt.Sprintf("| %s | %s | %d | %d |", c.controller, p, r.plans, r.right)
			for _, what := range wrongs() {
				line += fmt.Sprintf(" %d |", r.wrong[what])
			}
			lines = append(lines, line)
		}
	}
	t, err := template.New("").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(to, map[string]any{"Stories": len(stories()), "Rows": lines})
}
