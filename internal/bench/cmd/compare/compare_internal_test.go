// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

// TestFiles_AreThoseOfTheMeasuredFigures: no number is edited by hand.
func TestFiles_AreThoseOfTheMeasuredFigures(t *testing.T) {
	at := filepath.Join("..", "..")
	c, err := read(at)
	require.NoError(t, err)
	measured := slices.Clone(c.Figures)
	require.NoError(t, c.count(at))
	assert.Equal(t, measured, c.Figures, "code or evidence.md has changed; run make compare DRAW=1")
	text, err := c.text()
	require.NoError(t, err)
	picture, err := c.picture()
	require.NoError(t, err)
	for name, want := range map[string]string{textFile: text, pictureFile: picture} {
		got, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run make compare DRAW=1")
	}
	c.Figures = nil
	_, err = c.text()
	require.ErrorContains(t, err, "was not measured", "no number is made up")
}

func TestLines_CountCodeOnly(t *testing.T) {
	const text = `// A header.

package p

import (
	"errors"
)

// state has a comment.
type state struct {
	a int // with a comment
	b int // +more
}

func counted() error {

	// why
	return errors.New("x")
}

func other() {}
`
	n, err := source{"p.go", []string{"other"}}.lines(text)
	require.NoError(t, err)
	assert.Equal(t, 6, n, "three lines of the type, three of the function")
	_, err = source{"p.go", []string{"other", "renamed"}}.lines(text)
	require.ErrorContains(t, err, "p.go has no functions [renamed]")
}

func TestSieve_AddsThePatternsOfAController(t *testing.T) {
	const table = `
| controller | pattern | plans | ended right | result lost | second Job | Event lost |
|---|---|--:|--:|--:|--:|--:|
| this example | killed | 10 | 9 | 0 | 0 | 1 |
| this example | restarted | 20 | 18 | 0 | 0 | 2 |
| usual | killed | 7 | 3 | 4 | 0 | 0 |
`
	figures, err := totals(table)
	require.NoError(t, err)
	c := comparison{Figures: figures}
	assert.Equal(t, "3 of 30", c.plans("Event lost", ours))
	assert.Equal(t, "4 of 7", c.plans("result lost", usual))
	require.NoError(t, c.missing)
	c.plans("Event lost", careful)
	require.Error(t, c.missing)
	_, err = totals(strings.ReplaceAll(table, "10", "ten"))
	require.ErrorContains(t, err, "evidence.md: sieve")
}

func TestGoal_IsForTheRatioToAnother(t *testing.T) {
	c := comparison{Runs: 10, Rounds: 3, Figures: []bench.Figure{
		{Measure: "10 runs: writes a run", Unit: bench.Requests, Subject: ours, Median: 9},
		{Measure: "10 runs: writes a run", Unit: bench.Requests, Subject: careful, Median: 10},
		{Measure: "10 runs: writes a run", Unit: bench.Requests, Subject: cached, Median: 8},
		{Measure: "10 runs: results lost", Unit: "runs", Subject: usual, Total: 7},
		{Measure: "10 runs: failures without an event", Unit: "runs", Subject: usual, Total: 2},
		{Measure: "10 runs: failed", Unit: "runs", Subject: usual, Total: 9},
	}}
	assert.Equal(t, "0.90x <= 0.90x", c.ratioWithGoal(loads[0], costs[1], careful))
	assert.Equal(t, "1.12x > 0.90x", c.ratioWithGoal(loads[0], costs[1], cached))
	assert.Equal(t, "7 of 30", c.rate(loads[0], losses[0], usual))
	assert.Equal(t, "2 of 9", c.rate(loads[0], losses[2], usual), "of the failed runs of all rounds")
	require.NoError(t, c.missing)
}
