// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTestsThatShowTheRequirementsExist(t *testing.T) {
	declared := map[string]bool{}
	for _, body := range tracked(t, "*_test.go") {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(body, -1) {
			declared[string(m[1])] = true
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "internal", "docs", "requirements.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		assert.True(t, declared[string(m[1])], "requirements.md names %s, which is no test", m[1])
	}
}
