// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMap_NamesEachFolder: CONTRIBUTING's map has each folder of examples and
// internal, and each folder in it exists.
func TestMap_NamesEachFolder(t *testing.T) {
	_, rest, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## Map\n")
	require.True(t, found)
	section, _, _ := strings.Cut(rest, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named[m[1]] = true
			assert.DirExists(t, filepath.Join(root, m[1]))
		}
	}
	for name := range tracked(t, "examples", "internal") {
		if parts := strings.Split(name, "/"); len(parts) > 2 {
			assert.True(t, named[path.Join(parts[:2]...)], "the map lacks %s/%s", parts[0], parts[1])
		}
	}
}

// TestSuites_NameTheirPromise: the package comment of each end-to-end suite
// says what only this suite proves or finds.
func TestSuites_NameTheirPromise(t *testing.T) {
	promise := regexp.MustCompile(`(?m)^// Only this suite (proves|finds) `)
	suites := map[string]bool{}
	for name, body := range tracked(t, "internal/e2e/*.go") {
		if dir := path.Dir(name); strings.HasSuffix(name, "_test.go") && regexp.MustCompile(`(?m)^func Test\w+\(t \*testing`).Match(body) {
			suites[dir] = suites[dir] || false
		}
		if dir := path.Dir(name); promise.Match(body) {
			suites[dir] = true
		}
	}
	require.Greater(t, len(suites), 10)
	for dir, says := range suites {
		assert.True(t, says, "the package comment of %s says what only this suite proves", dir)
	}
}
