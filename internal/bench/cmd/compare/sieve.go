// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/proompteng/controllerkit/internal/bench"
)

// sievePlans begins the names of the figures that make sieve counted.
const sievePlans = "plans of Sieve: "

// wrongs are the columns of its table that are compared.
var wrongs = []string{"result lost", "second Job", "Event lost"}

// sieve takes the counts of make sieve from its page. The directory is
// internal/bench.
func sieve(dir string) ([]bench.Figure, error) {
	page, err := os.ReadFile(filepath.Join(dir, "..", "docs", "evidence.md"))
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(string(page), "<!-- sieve -->")
	table, _, found := strings.Cut(after, "<!-- end -->")
	if !found {
		return nil, errors.New("evidence.md has no <!-- sieve --> with an <!-- end -->")
	}
	return totals(table)
}

// totals adds the rows of each controller, one for each pattern, in a Markdown
// table.
func totals(table string) ([]bench.Figure, error) {
	var head, subjects []string
	counts := map[[2]string]float64{} // by subject and column
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if head == nil {
			head = cells
			continue
		}
		subject := strings.ReplaceAll(cells[0], "this example", ours)
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
		for i, cell := range cells[2:] {
			n, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("evidence.md: sieve: %w", err)
			}
			counts[[2]string{subject, head[i+2]}] += n
		}
	}
	var all []bench.Figure
	for _, subject := range subjects {
		for _, column := range append([]string{"plans"}, wrongs...) {
			n := counts[[2]string{subject, column}]
			all = append(all, exactly(sievePlans+column, "plans", subject, n))
		}
	}
	return all, nil
}

// plans is how many of all plans went wrong.
func (c *comparison) plans(wrong, subject string) string {
	all := c.of(sievePlans+"plans", "plans", subject).Median
	return fmt.Sprintf("%.0f of %.0f", c.of(sievePlans+wrong, "plans", subject).Median, all)
}
