// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package repotest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeCodeIsCompiledCode: every Go block of README is part of a Go file
// of this repository. Only the indentation may differ.
func TestReadmeCodeIsCompiledCode(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)

	sources := map[string]string{}
	for name, body := range tracked(t, "*.go") {
		sources[name] = unindented(string(body))
	}
	for _, b := range blocks {
		block, found := unindented(b[1]), ""
		for name, source := range sources {
			if strings.Contains(source, block) {
				found = name
			}
		}
		assert.NotEmpty(t, found, "no Go file holds this block of README:\n%s", b[1])
	}
}

// TestDoc_ReconcilerOfJobgcIsCompiledCode: the reconciler in the documentation
// of package jobgc is compiled in an example, and has at most 35 lines.
//
//req:shows A2
func TestDoc_ReconcilerOfJobgcIsCompiledCode(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "jobgc", "doc.go"))
	require.NoError(t, err)
	code := regexp.MustCompile(`(?ms)^//\tfunc \(r \*Reconciler\) Reconcile.*?^//\t}$`).FindString(string(doc))
	require.NotEmpty(t, code)
	assert.LessOrEqual(t, strings.Count(code, "\n")+1, 35)
	compiled, err := os.ReadFile(filepath.Join(root, "examples", "controller-runtime", "onejob", "reconcile.go"))
	require.NoError(t, err)
	assert.Contains(t, string(compiled), regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(code, ""))
}

// TestReadmeBeginsWithAUse: the first screen has go get and a use of it.
func TestReadmeBeginsWithAUse(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	lines := strings.Split(string(readme), "\n")
	get := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "go get ") })
	block := slices.Index(lines, "```go")
	assert.True(t, 0 <= get && get < 12, "go get is in line %d", get+1)
	assert.True(t, 0 <= block && block < 20, "the first Go block begins in line %d", block+1)
}

// TestReadme_MeasuredIsWhatCompareMeasured: the rows below Measured are those
// of make compare's file, in the words of README.
func TestReadme_MeasuredIsWhatCompareMeasured(t *testing.T) {
	screen, err := os.ReadFile(filepath.Join(root, "internal", "bench", "COMPARE.txt"))
	require.NoError(t, err)
	row := func(label string) []string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(label) + ` +([\d. ]+)$`).FindSubmatch(screen)
		require.NotNil(t, m, "COMPARE.txt has no row %q", label)
		return strings.Fields(string(m[1]))
	}
	// Of two columns, such as "usual" and "ours", the first is the baseline's.
	calm, killed := row("nothing"), row("the controller, 3 times")
	burst := row("5,000 failures at once, a write takes 50 ms: events lost")
	missing := row("1,000 new Jobs, the watch is 250 ms late: called missing")
	canary := row("to a canary and back, usually apply and delete: ready of 5")
	require.Equal(t, []int{8, 8, 3, 3, 2}, []int{len(calm), len(killed), len(burst), len(missing), len(canary)})

	table := "| measured | the baseline | controllerkit |\n|---|---:|---:|\n"
	for _, r := range [][3]string{
		{"300 runs, nothing fails: results lost", calm[0], calm[1]},
		{"300 runs, the controller is killed 3 times: results lost", killed[0], killed[1]},
		{"300 runs, nothing fails: API writes a run", calm[6], calm[7]},
		{"5,000 failures at once: Events lost (`tools/record`, `tools/events`)", burst[0] + ", " + burst[1], burst[2]},
		{"1,000 new Jobs, a watch that is 250 ms late: reported missing (a lister)", missing[0], missing[2]},
		{"to a canary and back: ready pods of 5 at worst (apply, then delete)", canary[0], canary[1]},
	} {
		table += "| " + strings.Join(r[:], " | ") + " |\n"
	}
	generated(t, filepath.Join(root, "README.md"), "-run TestReadme -update -->\n", table)
}

// TestReadme_PriceIsWhatBenchMeasured: the highest ratios of CPU time and of
// peak memory in all loads of make bench, to the first decimal.
func TestReadme_PriceIsWhatBenchMeasured(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join(root, "internal", "bench", "results.tsv"))
	require.NoError(t, err)
	highest := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^controller\t500 runs.*: (CPU time|peak memory)\t\S+\t\S+\tcontroller-runtime\t\S+\t(\S+)\t`).FindAllSubmatch(results, -1) {
		ratio, err := strconv.ParseFloat(string(m[2]), 64)
		require.NoError(t, err)
		highest[string(m[1])] = max(highest[string(m[1])], ratio)
	}
	require.Len(t, highest, 2)
	assert.Contains(t, string(readme), fmt.Sprintf("up to %.1f times the CPU time and %.1f times the memory", highest["CPU time"], highest["peak memory"]))
}

// TestReadme_IsShort: at most 120 lines. Lines of prose have at most 100
// columns, not counting the targets of links.
func TestReadme_IsShort(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(readme), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 120)
	target := regexp.MustCompile(`\]\([^)]*\)`)
	for n, l := range lines {
		if !strings.HasPrefix(l, "|") && !strings.HasPrefix(l, "<!--") {
			assert.LessOrEqual(t, utf8.RuneCountInString(target.ReplaceAllString(l, "]")), 100, "line %d", n+1)
		}
	}
}

// TestReadme_LinksLeadToFiles: each relative link of the pages at the top.
func TestReadme_LinksLeadToFiles(t *testing.T) {
	for name, body := range tracked(t, "*.md", ":!internal/docs", ":!examples/chart") {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(string(body), -1) {
			_, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1]))
			assert.NoError(t, err, "%s links to %s", name, m[1])
		}
	}
}

// unindented drops the indentation, so that a function's body matches a block
// of README.
func unindented(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(l) + "\n")
	}
	return strings.TrimSpace(b.String())
}
