// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPage_IsThatOfTheReports: no number is edited by hand.
func TestPage_IsThatOfTheReports(t *testing.T) {
	want, err := page(".")
	require.NoError(t, err)
	got, err := os.ReadFile("RESULTS.md")
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "run make bench")
}
