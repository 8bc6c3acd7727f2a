// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

var update = flag.Bool("update", false, "rewrite the generated part of the documents")

// TestTheDocumentHasTheTable compares examples/operate/metrics.md with the
// catalogue.
func TestTheDocumentHasTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "examples", "operate", "metrics.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, found := strings.Cut(string(page), "-update -->\n")
	require.True(t, found)
	table, tail, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found)
	want := string(manifest.Table())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(head+"-update -->\n"+want+"<!-- end -->"+tail), 0o644))
		return
	}
	assert.Equal(t, want, table)
}

func TestTheTableHasEveryInstrument(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(string(manifest.Table())), "\n")
	all := catalog.Instruments().All()
	require.Len(t, rows, len(all)+2)
	for n, i := range all {
		cells := strings.Split(strings.Trim(rows[n+2], "| "), " | ")
		assert.Equal(t, "`"+i.Name+"`", cells[0])
		assert.Equal(t, "`"+i.PrometheusName()+"`", cells[1])
		assert.Equal(t, i.Description, cells[5])
	}
}
