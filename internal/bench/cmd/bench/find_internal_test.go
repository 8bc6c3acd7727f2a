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
	for _, name := range []string{"status", "status-other", "events", "cmd"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		if name != "cmd" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, "go.mod"), nil, 0o644))
		}
	}
	at := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, filepath.Join(dir, n))
		}
		return out
	}
	got, err := find(dir, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"events": at("events"), "status": at("status", "status-other")}, got, "all by default")
	got, err = find(dir, []string{"status"})
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"status": at("status", "status-other")}, got, "every group of the package")
	_, err = find(dir, []string{"status", "cmd"})
	assert.ErrorContains(t, err, "events, status", "a name that is unknown says which are known")
}
