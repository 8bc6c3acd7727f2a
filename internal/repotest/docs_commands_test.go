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

// TestMakeTargets_Exist: every make command of the documents and the workflows
// is a target of the Makefile.
func TestMakeTargets_Exist(t *testing.T) {
	target := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for name := range strings.FieldsSeq(line[1]) {
			target[name] = true
		}
	}
	require.True(t, target["test"], "this test finds no target in the Makefile; fix its pattern")
	// A command begins a code span or fills a line.
	command := regexp.MustCompile("(?m)`make ([a-z][a-z0-9-]*)[` ]|^(?:  *- run: )?make ([a-z][a-z0-9-]*)(?: [A-Z_]+=\\S+)*(?: +#.*)?$")
	matrix := regexp.MustCompile(`target: \[(.*)\]`)
	seen := 0
	for file, body := range tracked(t, "*.md", ".github/*.yml", ":!CHANGELOG.md") {
		for _, m := range command.FindAllSubmatch(body, -1) {
			seen++
			name := string(m[1]) + string(m[2])
			assert.True(t, target[name], "%s: make %s is not a target of the Makefile; name one that make help lists", file, name)
		}
		for _, m := range matrix.FindAllSubmatch(body, -1) {
			for _, word := range regexp.MustCompile(`[\w-]+`).FindAllString(string(m[1]), -1) {
				seen++
				assert.True(t, target[word], "%s: make %s is not a target of the Makefile; name one that make help lists", file, word)
			}
		}
	}
	assert.Greater(t, seen, 30, "this test no longer finds the commands; fix its patterns")
}
