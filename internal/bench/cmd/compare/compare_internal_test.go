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
