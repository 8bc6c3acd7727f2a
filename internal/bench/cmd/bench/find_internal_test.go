// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"status", "events", "cmd"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		if name != "cmd" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, "main.go"), nil, 0o644))
		}
	}
	got, err := find(dir, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "events"), filepath.Join(dir, "status")}, got, "all by default")
	got, err = find(dir, []string{"status"})
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "status")}, got, "the named one")
	_, err = find(dir, []string{"status", "cmd"})
	assert.ErrorContains(t, err, "events, status", "a name that is unknown says which are known")
}
