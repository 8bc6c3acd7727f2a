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
	api := read(t, "internal/testdata/api.golden")
	names := pictureNames(read(t, "internal/docs/architecture.svg"))
	require.Len(t, names, 6, "internal/docs/architecture.svg: draw one name for each box of the library, as a text of class name")
	for _, name := range names {
		assert.Regexp(t, declared(name), api, "internal/docs/architecture.svg: %q is not exported; draw a name of internal/testdata/api.golden", name)
	}
}

// declared matches the line of api.golden that declares a name of the picture.
func declared(name string) *regexp.Regexp {
	pkg, symbol, _ := strings.Cut(name, ": ")
	receiver, method, isMethod := strings.Cut(symbol, ".")
	if isMethod {
		return regexp.MustCompile(`(?m)^` + pkg + `: func \(\w+ \*?` + receiver + `(\[\w+\])?\) ` + method + `\(`)
	}
	return regexp.MustCompile(`(?m)^` + pkg + `: func ` + symbol + `\(`)
}

// pictureNames returns the texts of class "name", with their lines joined by a
// blank.
func pictureNames(picture string) []string {
	text := regexp.MustCompile(`(?s)<text class="name".*?</text>`)
	tag := regexp.MustCompile(`<[^>]*>`)
	var names []string
	for _, m := range text.FindAllString(picture, -1) {
		lines := tag.ReplaceAllString(m, " ")
		names = append(names, strings.Join(strings.Fields(lines), " "))
	}
	return names
}
