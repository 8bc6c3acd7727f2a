// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeCodeIsCompiledCode: every Go block of README stands, line by line and but for its indentation, in a Go file of
// this repository, which the other checks compile and run.
func TestReadmeCodeIsCompiledCode(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)

	sources := map[string]string{}
	for name, body := range tracked(t, "*.go") {
		sources[name] = unindented(string(body))
	}
	for _, b := range blocks {
		block, found := unindented(b[1]), ""
		for name, source := range sources {
			if strings.Contains(source, block) {
				found = name
			}
		}
		assert.NotEmpty(t, found, "no Go file holds this block of README:\n%s", b[1])
	}
}

// TestReadmeBeginsWithAUse: who looks at the first screen has go get and a use of it.
func TestReadmeBeginsWithAUse(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	lines := strings.Split(string(readme), "\n")
	get := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "go get ") })
	block := slices.Index(lines, "```go")
	assert.True(t, 0 <= get && get < 12, "go get stands in line %d", get+1)
	assert.True(t, 0 <= block && block < 20, "the first Go block begins in line %d", block+1)
}

// TestReadmeQuotesTheProof: the screen of make proof is quoted as it was printed.
func TestReadmeQuotesTheProof(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	screen, err := os.ReadFile(filepath.Join(root, "internal", "bench", "PROOF.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), "```text\n"+string(screen)+"```\n", "copy internal/bench/PROOF.txt into the block below Measured")
}

// unindented drops what differs between a function's body and a block of README.
func unindented(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(l) + "\n")
	}
	return strings.TrimSpace(b.String())
}
