// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	stabilityLog = "internal/docs/stability.tsv"
	stability    = "internal/tools/stability.sh"
)

// stabilityLine is a run in the log: date, commit, target, seconds, load, and
// ok or the failed tests.
var stabilityLine = regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\t[0-9a-f]{10}\t(unit|race|e2e)\t\d+\t\d+\.\d+\t\S[^\t]*$`)

// TestTheStabilityLog: each line is a run in the script's format.
func TestTheStabilityLog(t *testing.T) {
	for _, line := range stabilityLines(t, root) {
		assert.Regexp(t, stabilityLine, line, "%s: only make stability writes this file; delete the line", stabilityLog)
	}
}

// TestStability runs the script in a new repository, in which the first make
// e2e fails.
func TestStability(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	script, err := os.ReadFile(filepath.Join(root, stability))
	require.NoError(t, err)
	write(stability, string(script))
	write("Makefile", "race:\n\t@echo ok\ne2e:\n\t@test -e bin/second || { touch bin/second; printf -- '--- FAIL: TestA (1s)\\n    --- FAIL: TestA/b (1s)\\nFAIL\\texample.com/a\\t1s\\n'; exit 1; }\n")
	write(".gitignore", "/bin/\n")
	write(stabilityLog, "date\tcommit\twhat\tseconds\tload\tresult\n")
	run := func(name string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "MAKEFLAGS=", "WHAT=")
		out, err := cmd.CombinedOutput()
		t.Logf("%s %v: %s", name, args, out)
		return err
	}
	require.NoError(t, run("git", "init", "--quiet"))
	require.NoError(t, run("git", "add", "."))
	require.NoError(t, run("git", "commit", "--quiet", "-m", "x"))

	require.Error(t, run(stability, "2"), "a run failed")
	lines := stabilityLines(t, dir)
	require.Len(t, lines, 4)
	for i, want := range []string{"race\tok", "e2e\tTestA TestA/b", "race\tok", "e2e\tok"} {
		assert.Regexp(t, stabilityLine, lines[i])
		fields := strings.Split(lines[i], "\t")
		assert.Equal(t, want, fields[2]+"\t"+fields[5])
	}
	kept, err := filepath.Glob(filepath.Join(dir, "bin", "stability-e2e-20*.log"))
	require.NoError(t, err)
	assert.Len(t, kept, 1, "the output of the failed run")

	require.NoError(t, run(stability, "3"), "it continues, and a changed log does not count as a change")
	lines = stabilityLines(t, dir)
	require.Len(t, lines, 7, "race needs one more run, e2e two more after the failure")

	write("Makefile", "race e2e:\n\t@exit 1\n")
	var refused *exec.ExitError
	require.ErrorAs(t, run(stability, "4"), &refused, "the log cannot name a change without a commit")
	assert.Equal(t, 2, refused.ExitCode())
	assert.Equal(t, lines, stabilityLines(t, dir))
}

// stabilityLines returns the runs in the log, without its header.
func stabilityLines(t *testing.T, root string) []string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, stabilityLog))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")[1:]
}
