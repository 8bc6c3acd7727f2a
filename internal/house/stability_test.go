// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package house_test

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

// stabilityLine is a run in the log: date, commit, what, seconds, load, and ok or what failed.
var stabilityLine = regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\t[0-9a-f]{10}\t(unit|e2e)\t\d+\t\d+\.\d+\t\S[^\t]*$`)

// TestTheStabilityLog: each line is a run, as the script writes them.
func TestTheStabilityLog(t *testing.T) {
	for _, line := range stabilityLines(t, root) {
		assert.Regexp(t, stabilityLine, line)
	}
}

// TestStability runs the script in a repository of its own, where make e2e fails at first.
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
	write("Makefile", "unit:\n\t@echo ok\ne2e:\n\t@test -e bin/second || { touch bin/second; printf -- '--- FAIL: TestA (1s)\\n    --- FAIL: TestA/b (1s)\\nFAIL\\texample.com/a\\t1s\\n'; exit 1; }\n")
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
	for i, want := range []string{"unit\tok", "e2e\tTestA TestA/b", "unit\tok", "e2e\tok"} {
		assert.Regexp(t, stabilityLine, lines[i])
		fields := strings.Split(lines[i], "\t")
		assert.Equal(t, want, fields[2]+"\t"+fields[5])
	}
	kept, err := filepath.Glob(filepath.Join(dir, "bin", "stability-e2e-20*.log"))
	require.NoError(t, err)
	assert.Len(t, kept, 1, "what the run that failed has printed")

	require.NoError(t, run(stability, "3"), "it goes on where it was, the log itself is no change")
	lines = stabilityLines(t, dir)
	require.Len(t, lines, 7, "unit needed one more, e2e two after the one that failed")
	require.NoError(t, run(stability, "3"))
	assert.Equal(t, lines, stabilityLines(t, dir), "there is nothing left to do")

	write("Makefile", "unit e2e:\n\t@exit 1\n")
	require.Error(t, run(stability, "4"), "what is in no commit has no name in the log")
	assert.Equal(t, lines, stabilityLines(t, dir))
	require.NoError(t, run("git", "commit", "--quiet", "-a", "-m", "y"))
	require.NoError(t, run(stability, "3"), "a row of three is there, of the commit before")
	require.Error(t, run(stability, "4"))
	lines = stabilityLines(t, dir)
	require.Len(t, lines, 7+8)
	assert.Regexp(t, `\tmake$`, lines[len(lines)-1], "no test failed, but make did")
}

// stabilityLines are the runs in the log, without its head.
func stabilityLines(t *testing.T, root string) []string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, stabilityLog))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")[1:]
}
