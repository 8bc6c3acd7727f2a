// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTroubleshootingNamesTestsThatExist: each test and each file that the page names is there.
func TestTroubleshootingNamesTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	declared := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(read(t, path), -1) {
			declared[string(m[1])] = true
		}
		return nil
	}))
	page := read(t, filepath.Join("..", "troubleshooting.md"))
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		assert.True(t, declared[string(m[1])], "%s is no test", m[1])
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllSubmatch(page, -1) {
		_, err := os.Stat(filepath.Join("..", string(link[1])))
		assert.NoError(t, err)
	}
}
