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
)

// TestFiles_AreThoseOfTheMeasuredFigures: no number is edited by hand.
func TestFiles_AreThoseOfTheMeasuredFigures(t *testing.T) {
	at := filepath.Join("..", "..")
	c, err := read(at)
	require.NoError(t, err)
	text, err := c.text()
	require.NoError(t, err)
	picture, err := c.picture()
	require.NoError(t, err)
	for name, want := range map[string]string{textFile: text, pictureFile: picture} {
		got, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "run make compare DRAW=1")
	}
	for i, missing := range c.Figures {
		less := c
		less.Figures = slices.Delete(slices.Clone(c.Figures), i, i+1)
		if without, err := less.text(); err != nil {
			assert.ErrorContains(t, err, missing.Measure)
		} else {
			assert.Equal(t, text, without, "a number is made up: %v", missing)
		}
	}
}

func TestSaid(t *testing.T) {
	attr := func(test, key, value string) string {
		return `{"Action":"attr","Test":"` + test + `","Key":"` + key + `","Value":"` + value + `"}` + "\n"
	}
	const fewest, highest, end = "least-ready-endpoints", "most-ready-endpoints", "deployment-pods"
	var all string
	for _, w := range ways {
		all += attr(w.test, fewest, "5") + attr(w.test, highest, "6") + attr(w.test, end, "5")
	}
	got, err := said([]byte(`{"Action":"run"}` + "\n" + all + attr(ways[1].test, fewest, "0") + attr(ways[1].test, fewest, "3") + attr(ways[2].test, highest, "9") + attr(ways[2].test, end, "0")))
	require.NoError(t, err)
	var numbers []float64
	for _, f := range got {
		numbers = append(numbers, f.Median)
	}
	assert.Equal(t, []float64{5, 6, 5, 0, 6, 5, 5, 9, 0}, numbers, "fewest and most of each way, there and back, and the last")

	for name, output := range map[string]string{
		"Silent": attr(ways[0].test, fewest, "5"),
		"Half":   strings.Replace(all, highest, "another", 1),
	} {
		_, err := said([]byte(output))
		assert.Error(t, err, name)
	}
}
