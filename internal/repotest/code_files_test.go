// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheTopIsFixed: the five packages, the examples, and folders that users
// cannot import.
func TestTheTopIsFixed(t *testing.T) {
	folders := map[string]bool{}
	for name := range tracked(t, "*") {
		if folder, _, below := strings.Cut(name, "/"); below {
			folders[folder] = true
		}
	}
	assert.Equal(t, []string{".ci", ".github", "events", "examples", "internal", "jobgc", "metrics", "rollout", "status"}, slices.Sorted(maps.Keys(folders)),
		"the top folders are fixed; put what users read under examples, and the rest under internal")
}

func TestNoFileIsTooLongToRead(t *testing.T) {
	const most = 400
	for name, body := range tracked(t, "*.go") {
		assert.LessOrEqual(t, bytes.Count(body, []byte("\n")), most, "%s has too many lines to read; split it by what it declares", name)
	}
}
