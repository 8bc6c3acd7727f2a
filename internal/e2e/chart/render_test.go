// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden file, and the files of the chart that are generated")

// golden compares a file with what it should be. With -update it writes it.
func golden(t *testing.T, path, is string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(is), 0o644))
	}
	assert.Equal(t, string(readFile(t, path)), is, "%s is not current: run make generate", path)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return body
}

// ciFiles are the values that the chart is tried with, by name.
func ciFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := map[string]string{}
	for _, path := range paths {
		all[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = string(readFile(t, path))
	}
	return all
}

// TestRendered: what each file of ci/ renders, with the NOTES, to the byte. Run
// it with -update after a change that was reviewed. helm lint is content too.
//
//req:shows O1 R1
func TestRendered(t *testing.T) {
	dir := chartWithNotes(t)
	for name, values := range ciFiles(t) {
		t.Run(name, func(t *testing.T) {
			file := "--values=" + valuesFile(t, values)
			lint, err := runHelm(t, "lint", chartDir, "--strict", kubeVersion, file)
			require.NoError(t, err)
			// What a template refuses is a mere information.
			assert.NotRegexp(t, `\[WARNING\]|\[ERROR\]|Fail:`, lint)
			out, err := runHelm(t, "template", "r", dir, "--namespace=ns", kubeVersion, file)
			require.NoError(t, err)
			before, dashboards, found := strings.Cut(out, "# Source: agentrun/templates/dashboards.yaml")
			if found { // the dashboard has a separate test
				_, after, _ := strings.Cut(dashboards, "\n---\n")
				out = before + "\n---\n" + after
			}
			parse(t, out) // each document is one object, and no two have the same name
			golden(t, filepath.Join("testdata", name+".golden.yaml"), out)
		})
	}
}

// chartWithNotes is a copy of the chart that renders its NOTES as a ConfigMap
// too. Only an installation shows them.
func chartWithNotes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(chartDir)))
	require.NoError(t, os.Rename(filepath.Join(dir, "templates", "NOTES.txt"), filepath.Join(dir, "notes.txt")))
	show := readFile(t, filepath.Join("testdata", "notes.yaml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "templates", "notes.yaml"), show, 0o600))
	return dir
}
