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
var stabilityLine = regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\t[0-9a-f]{10}(-dirty)?\t(unit|e2e)\t\d+\t\d+\.\d+\t\S[^\t]*$`)

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
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "MAKEFLAGS=")
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
		assert.NotContains(t, fields[1], "dirty", "the log itself is no change")
	}
	kept, err := filepath.Glob(filepath.Join(dir, "bin", "stability-e2e-20*.log"))
	require.NoError(t, err)
	assert.Len(t, kept, 1, "what the run that failed has printed")

	require.NoError(t, run(stability, "3"), "it goes on where it was")
	assert.Len(t, stabilityLines(t, dir), 6)
	require.NoError(t, run(stability, "3"))
	assert.Len(t, stabilityLines(t, dir), 6, "there is nothing left to do")
	write("Makefile", "unit e2e:\n\t@exit 1\n")
	require.Error(t, run(stability, "1"))
	lines = stabilityLines(t, dir)
	require.Len(t, lines, 8, "what is changed is not what was committed")
	assert.Regexp(t, `-dirty\tunit\t\d+\t[\d.]+\tmake$`, lines[6])
}

// stabilityLines are the runs in the log, without its head.
func stabilityLines(t *testing.T, root string) []string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, stabilityLog))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")[1:]
}
