// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTroubleshooting_LinksLeadToFiles(t *testing.T) {
	page := read(t, filepath.Join("..", "troubleshooting.md"))
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllSubmatch(page, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		_, err := os.Stat(filepath.Join("..", string(link[1])))
		assert.NoError(t, err)
	}
}
