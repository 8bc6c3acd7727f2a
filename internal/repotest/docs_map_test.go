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

// TestMap_NamesEachFolder: CONTRIBUTING's map has each folder of the top, of
// examples and of internal, and each folder in it exists.
func TestMap_NamesEachFolder(t *testing.T) {
	_, rest, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## Map\n")
	require.True(t, found, "CONTRIBUTING.md has no section Map; add it")
	section, _, _ := strings.Cut(rest, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named[m[1]] = true
			assert.DirExists(t, filepath.Join(root, m[1]), "CONTRIBUTING.md: the map has a folder that does not exist; delete it from the map")
		}
	}
	for name := range tracked(t, "*/*") {
		folder, below, _ := strings.Cut(name, "/")
		if folder == "examples" || folder == "internal" {
			second, _, isNested := strings.Cut(below, "/")
			if !isNested {
				continue
			}
			folder = path.Join(folder, second)
		}
		assert.True(t, named[folder], "CONTRIBUTING.md: the map lacks %s; add a row", folder)
	}
}
