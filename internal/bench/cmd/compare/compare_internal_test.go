// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
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
