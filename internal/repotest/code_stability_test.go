// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheStabilityLog: each line is a run: date, commit, target, seconds, load,
// and ok or the failed tests.
func TestTheStabilityLog(t *testing.T) {
	const name = "internal/docs/stability.tsv"
	run := regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\t[0-9a-f]{10}\t(unit|race|e2e)\t\d+\t\d+\.\d+\t\S[^\t]*$`)
	lines := strings.Split(strings.TrimSuffix(read(t, name), "\n"), "\n")
	for _, line := range lines[1:] { // below the header
		assert.Regexp(t, run, line, "%s: only make stability writes this file; delete the line", name)
	}
}
