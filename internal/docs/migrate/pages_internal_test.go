// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestThePagesShowCompiledCode: each line of a Go block in a guide is a line of
// one of the Go files, except for its indentation. Each guide is one screen,
// and answers the same questions.
//
//req:shows A2
func TestThePagesShowCompiledCode(t *testing.T) {
	const screen = 75
	var sources []string
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if name != "pages_internal_test.go" {
			sources = append(sources, unindented(read(t, name)))
		}
	}
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.Len(t, pages, 5)
	for _, name := range pages {
		page := read(t, name)
		assert.LessOrEqual(t, bytes.Count(page, []byte("\n")), screen, name)
		for _, heading := range []string{"Before", "After", "What changes for users", "Watch", "Your tests", "Back"} {
			assert.Contains(t, string(page), "\n## "+heading+"\n", name)
		}
		blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
		assert.GreaterOrEqual(t, len(blocks), 2, name)
		for _, block := range blocks {
			found := false
			for _, source := range sources {
				found = found || strings.Contains(source, unindented(block[1]))
			}
			assert.True(t, found, "%s: no Go file here holds\n%s", name, block[1])
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllSubmatch(page, -1) {
			_, err := os.Stat(string(link[1]))
			assert.NoError(t, err, name)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	return body
}

func unindented(s []byte) string {
	var b strings.Builder
	for l := range bytes.Lines(s) {
		b.Write(append(bytes.TrimSpace(l), '\n'))
	}
	return strings.TrimSpace(b.String())
}
