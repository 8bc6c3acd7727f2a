// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDependabot_ListsEveryModule: Dependabot updates only the folders that its
// configuration lists.
func TestDependabot_ListsEveryModule(t *testing.T) {
	var listed, modules []string
	for _, m := range regexp.MustCompile(`(?m)^      - (/\S*)$`).FindAllStringSubmatch(read(t, ".github/dependabot.yml"), -1) {
		listed = append(listed, m[1])
	}
	for name := range tracked(t, "*go.mod") {
		modules = append(modules, path.Join("/", path.Dir(name)))
	}
	assert.ElementsMatch(t, modules, listed, "list the folder of each go.mod in .github/dependabot.yml, and no other")
}

// TestWorkflows_PinActionsByCommit: a tag of an action can be moved.
func TestWorkflows_PinActionsByCommit(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for name, body := range tracked(t, ".github/workflows/*.yml") {
		uses := regexp.MustCompile(`(?m)uses: (.*)$`).FindAllSubmatch(body, -1)
		assert.NotEmpty(t, uses, name)
		for _, m := range uses {
			assert.Regexp(t, pinned, string(m[1]), name)
		}
	}
}

// TestMakeTargets_Exist: every make command of the documents and the workflows
// is a target of the Makefile.
func TestMakeTargets_Exist(t *testing.T) {
	target := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		for name := range strings.FieldsSeq(line[1]) {
			target[name] = true
		}
	}
	require.True(t, target["test"])
	// A command begins a code span or fills a line.
	command := regexp.MustCompile("(?m)`make ([a-z][a-z0-9-]*)[` ]|^(?:  *- run: )?make ([a-z][a-z0-9-]*)(?: [A-Z_]+=\\S+)*(?: +#.*)?$")
	matrix := regexp.MustCompile(`target: \[(.*)\]`)
	seen := 0
	for file, body := range tracked(t, "*.md", ".github/*.yml", ":!CHANGELOG.md") {
		for _, m := range command.FindAllSubmatch(body, -1) {
			seen++
			name := string(m[1]) + string(m[2])
			assert.True(t, target[name], "%s: make %s", file, name)
		}
		for _, m := range matrix.FindAllSubmatch(body, -1) {
			for _, word := range regexp.MustCompile(`[\w-]+`).FindAllString(string(m[1]), -1) {
				seen++
				assert.True(t, target[word], "%s: make %s", file, word)
			}
		}
	}
	assert.Greater(t, seen, 30, "the commands were found")
}
