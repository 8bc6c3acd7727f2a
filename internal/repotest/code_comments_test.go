// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// TestDocCommentsFitEightyColumns: those of what a file declares. Directives,
// code, links and headings may be longer, and so may a single word.
func TestDocCommentsFitEightyColumns(t *testing.T) {
	prose := regexp.MustCompile(`^// [^ +#\[].* `)
	for name, body := range tracked(t, "*.go") {
		if bytes.Contains(body[:min(len(body), 600)], []byte("DO NOT EDIT")) {
			continue
		}
		n := 0
		for line := range strings.Lines(string(body)) {
			n++
			width := utf8.RuneCountInString(strings.TrimSpace(line))
			assert.False(t, width > 80 && prose.MatchString(line), "%s:%d: a doc comment has %d columns; wrap it at 80", name, n, width)
		}
	}
}
