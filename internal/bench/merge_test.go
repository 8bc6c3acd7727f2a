// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/bench"
)

func row(pkg, measure string) bench.Row {
	return bench.Row{pkg, measure, "ns", "1", "peer", "2", "0.5", "-", "-"}
}

func TestTSVRoundTrip(t *testing.T) {
	rows := []bench.Row{row("events", "one"), row("status", "two")}
	got, err := bench.DecodeTSV(bench.EncodeTSV(rows))
	require.NoError(t, err)
	assert.Equal(t, rows, got)

	rows = []bench.Row{row("events", "a\ttab and\na line")}
	got, err = bench.DecodeTSV(bench.EncodeTSV(rows))
	require.NoError(t, err)
	assert.Equal(t, rows, got, "a cell cannot break the table")
}

func TestTSVColumns(t *testing.T) {
	head, _, _ := strings.Cut(bench.EncodeTSV(nil), "\n")
	assert.Equal(t, "package measure unit ours peer peer_value ratio gate pass", strings.ReplaceAll(head, "\t", " "))
}

func TestTSVOfAnotherShape(t *testing.T) {
	rows, err := bench.DecodeTSV("")
	require.NoError(t, err)
	assert.Empty(t, rows, "no file yet")
	for _, text := range []string{"package\tmeasure\n", bench.EncodeTSV(nil) + "events\tone\n"} {
		_, err := bench.DecodeTSV(text)
		require.Error(t, err, text)
	}
}

func TestMergeReplacesThePackageAlone(t *testing.T) {
	old := []bench.Row{row("events", "one"), row("jobgc", "gone"), row("jobgc", "gone too"), row("status", "three")}
	got := bench.Merge(old, "jobgc", []bench.Row{row("jobgc", "b"), row("jobgc", "a")})
	assert.Equal(t, []bench.Row{row("events", "one"), row("jobgc", "b"), row("jobgc", "a"), row("status", "three")}, got,
		"packages in alphabetical order, measures in the order of the group")
	assert.Len(t, old, 4)
	assert.Equal(t, []bench.Row{row("a", "x")}, bench.Merge(nil, "a", []bench.Row{row("a", "x")}))
}

func TestMergeSectionsReplacesThePackageAlone(t *testing.T) {
	page := bench.MergeSections("", "status", bench.Section([]string{"machine A"}, []bench.Row{row("status", "one")}))
	page = bench.MergeSections(page, "events", bench.Section([]string{"machine A"}, []bench.Row{row("events", "two")}))
	page = bench.MergeSections(page, "status", bench.Section([]string{"machine B"}, []bench.Row{row("status", "three")}))

	assert.Equal(t, 1, strings.Count(page, "## status"))
	assert.Less(t, strings.Index(page, "## events"), strings.Index(page, "## status"))
	assert.Contains(t, page, "## events\n\nmachine A\n")
	assert.Contains(t, page, "## status\n\nmachine B\n")
	assert.NotContains(t, page, "| one |")
	again := bench.MergeSections(page, "status", bench.Section([]string{"machine B"}, []bench.Row{row("status", "three")}))
	assert.Equal(t, page, again, "measuring the same again changes nothing")
}

func TestSectionDoesNotRepeatWhatTheLineAboveSays(t *testing.T) {
	first, second := row("status", "one"), row("status", "one")
	second.Peer = "other"
	got := bench.Section(nil, []bench.Row{first, second})
	assert.Contains(t, got, "| one | ns | 1 | peer | 2 | 0.5x | - | - |\n|  |  |  | other | 2 | 0.5x | - | - |\n")
}
