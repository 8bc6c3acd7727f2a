// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"
)

// row is values of the chart in a file of testdata.
type row struct {
	Reason string
	Values json.RawMessage
	Args   []string // of helm, too
	Says   []string // what helm says if it refuses them
}

func readRows(t *testing.T, file string) (rows map[string]row) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict(readFile(t, filepath.Join("testdata", file)), &rows))
	return rows
}

// TestValues: helm refuses the rows with a message that leads to the value, or
// renders what the golden file shows: each value is there, zero and false are
// values, a number is never 2.592e+06, and what a workload sets itself wins.
// Run it with -update after a change that was reviewed.
//
//req:shows J1 O1 R1 R4
func TestValues(t *testing.T) {
	const plain = "--set=metrics.dashboards.enabled=false"
	before, err := template(t, "{}", plain)
	require.NoError(t, err)
	rows := readRows(t, "values.yaml")
	names := slices.Sorted(maps.Keys(rows))
	changes := make([]string, len(names))
	t.Run("rows", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				row := rows[name]
				out, err := template(t, string(row.Values), append(row.Args, plain)...)
				if len(row.Says) == 0 {
					require.NoError(t, err, row.Reason)
					parse(t, out)
					changes[i] = fmt.Sprintf("%s\n%s\n", name, diff(t, before, out))
				}
				for _, part := range row.Says {
					require.ErrorContains(t, err, part, row.Reason)
				}
			})
		}
	})
	golden(t, filepath.Join("testdata", "values.golden.diff"), strings.Join(changes, ""))
}

// diff is what changes in which object, without the numbers of the lines.
func diff(t *testing.T, before, after string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "diff", "--unified=1", "--show-function-line=^  name:",
		valuesFile(t, before), valuesFile(t, after))
	out, _ := cmd.Output() // its code says whether they differ
	return regexp.MustCompile(`(?m)^(---|\+\+\+) .*\n|^@@ .* (@@)`).ReplaceAllString(string(out), "$2")
}
