// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tracked are the files that git knows, with their contents.
func tracked(t *testing.T, patterns ...string) map[string][]byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		body, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not yet committed
		}
		require.NoError(t, err)
		files[name] = body
	}
	require.NotEmpty(t, files)
	return files
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(body)
}

// TestTheTopIsFixed: the five packages, the examples, and folders that users
// cannot import.
func TestTheTopIsFixed(t *testing.T) {
	folders := map[string]bool{}
	for name := range tracked(t, "*") {
		if folder, _, below := strings.Cut(name, "/"); below {
			folders[folder] = true
		}
	}
	assert.Equal(t, []string{".ci", ".github", "events", "examples", "internal", "jobgc", "metrics", "rollout", "status"}, slices.Sorted(maps.Keys(folders)))
}

func TestEveryGoFileNamesItsLicence(t *testing.T) {
	const header = "// Copyright The controllerkit Authors.\n// SPDX-License-Identifier: Apache-2.0\n"
	for name, body := range tracked(t, "*.go") {
		assert.Contains(t, string(body[:min(len(body), 400)]), header, name)
	}
}

func TestNoFileIsTooLongToRead(t *testing.T) {
	const most = 400
	for name, body := range tracked(t, "*.go") {
		assert.LessOrEqual(t, bytes.Count(body, []byte("\n")), most, name)
	}
}
