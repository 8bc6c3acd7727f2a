// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinks: each relative link of a page leads to a file or folder, and its
// anchor to a heading.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	for name, body := range tracked(t, "*.md") {
		for _, m := range link.FindAllStringSubmatch(string(body), -1) {
			path := filepath.Join(filepath.Dir(name), cmp.Or(m[1], filepath.Base(name)))
			_, err := os.Stat(filepath.Join(root, path))
			require.NoError(t, err, "%s: the link %s leads to no file; correct its path", name, m[0])
			if m[2] != "" {
				assert.Contains(t, anchors(read(t, path)), m[2], "%s: the link %s leads to no heading; correct its anchor", name, m[0])
			}
		}
	}
}

// anchors returns the anchors of a page's headings on GitHub.
func anchors(page string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}
