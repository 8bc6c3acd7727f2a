// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRequirements: at least one test shows each row of the requirements table,
// each test names existing rows, and the last column lists the packages of the
// tests.
func TestRequirements(t *testing.T) {
	packages := map[string]map[string]bool{} // by row
	mark := regexp.MustCompile(`(?m)^//req:shows (.+)\nfunc Test`)
	anywhere := regexp.MustCompile(`(?m)^//req:.*$`)
	for name, body := range tracked(t, "*_test.go") {
		marks := mark.FindAllSubmatch(body, -1)
		assert.Len(t, anywhere.FindAll(body, -1), len(marks), "%s: write //req:shows as the last line above a test function", name)
		for _, m := range marks {
			for row := range strings.FieldsSeq(string(m[1])) {
				if packages[row] == nil {
					packages[row] = map[string]bool{}
				}
				packages[row][path.Dir(name)] = true
			}
		}
	}
	const page = "internal/docs/requirements.md"
	got := read(t, page)
	rows := map[string]bool{}
	want := regexp.MustCompile(`(?m)^(\| ([A-Z]\d) \| [^|]+ \|).*$`).ReplaceAllStringFunc(got, func(line string) string {
		cells := strings.Split(line, "|")
		row := strings.TrimSpace(cells[1])
		assert.False(t, rows[row], "requirements.md has two rows %s; rename one", row)
		rows[row] = true
		assert.NotEmpty(t, packages[row], "requirements.md: no test shows %s; write //req:shows above the test that does", row)
		return strings.Join(cells[:3], "|") + "| `" + strings.Join(slices.Sorted(maps.Keys(packages[row])), "`, `") + "` |"
	})
	require.NotEmpty(t, rows, "requirements.md has no rows that this test finds; keep the form | A1 | text |")
	for row := range packages {
		assert.True(t, rows[row], "a test shows %s, which requirements.md does not have; add the row, or correct //req:shows", row)
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s: the last column is old; go test ./internal/repotest -run TestRequirements -update writes it", page)
}
