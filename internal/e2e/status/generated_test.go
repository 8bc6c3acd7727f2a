// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestControllerGenMakesTheCRD: controller-gen makes the deep copies of a type
// that embeds the Stamp, and a CRD with the rules in its markers. Tests of the
// package and of the example compare these with Rules.
func TestControllerGenMakesTheCRD(t *testing.T) {
	dir := t.TempDir()
	tools, err := filepath.Abs(filepath.Join("..", "..", "tools", "go.mod"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+tools, "controller-gen",
		"object:headerFile=header.txt", "crd:headerFile=yamlheader.txt", "paths=.", "output:dir="+dir)
	cmd.Dir = filepath.Join(example, "api", "v1alpha1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, made, 2)
	for _, file := range made {
		folder := cmd.Dir
		if filepath.Ext(file.Name()) == ".yaml" {
			folder = filepath.Join(example, "crd")
		}
		want, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(folder, file.Name()))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "go generate ./... brings it up to date")
	}
}
