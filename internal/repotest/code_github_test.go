// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"path"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
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
		assert.NotEmpty(t, uses, "%s: this test finds no action; fix its pattern", name)
		for _, m := range uses {
			assert.Regexp(t, pinned, string(m[1]), "%s: pin the action by its commit, with the version as a comment", name)
		}
	}
}
