// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheStabilityLog: each line is a run in the format of make stability:
// date, commit, target, seconds, load, and ok or the failed tests.
func TestTheStabilityLog(t *testing.T) {
	run := regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\t[0-9a-f]{10}\t(unit|e2e)\t\d+\t\d+\.\d+\t\S[^\t]*$`)
	for _, line := range strings.Split(strings.TrimSuffix(read(t, "internal/docs/stability.tsv"), "\n"), "\n")[1:] {
		assert.Regexp(t, run, line)
	}
}
