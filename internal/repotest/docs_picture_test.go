// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPicture_NamesTheAPI: each Go name in the picture of the architecture is
// exported today. A name is written as "package: Type.Method" or
// "package: Function".
func TestPicture_NamesTheAPI(t *testing.T) {
	const name = "internal/docs/architecture.svg"
	api := read(t, "internal/testdata/api.golden")
	texts := regexp.MustCompile(`(?s)<text class="name".*?</text>`).FindAllString(read(t, name), -1)
	require.Len(t, texts, 6, "%s: draw one name for each box of the library, as a text of class name", name)
	for _, text := range texts {
		plain := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
		pkg, symbol, _ := strings.Cut(strings.Join(strings.Fields(plain), " "), ": ")
		function := symbol
		if receiver, method, ok := strings.Cut(symbol, "."); ok {
			function = `\(\w+ \*?` + receiver + `(\[\w+\])?\) ` + method
		}
		assert.Regexp(t, `(?m)^`+pkg+`: func `+function+`\(`, api, "%s: %s: %s is not exported; draw a name of internal/testdata/api.golden", name, pkg, symbol)
	}
}
