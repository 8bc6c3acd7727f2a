// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics"
)

var update = flag.Bool("update", false, "write the tables of instruments into the documents")

// instrument is a row of the tables.
type instrument struct{ name, kind, unit, labels, meaning string }

// instruments returns the instruments of a set, in the order of their names.
func instruments(t *testing.T) (all []instrument) {
	t.Helper()
	m, reader := newSet(t, metrics.Options{})
	exercise(t, m)
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	for _, i := range got.ScopeMetrics[0].Metrics {
		kind, keys := kindOf(i.Data)
		all = append(all, instrument{i.Name, kind, i.Unit, strings.Join(keys, ", "), i.Description})
	}
	slices.SortFunc(all, func(a, b instrument) int { return strings.Compare(a.name, b.name) })
	return all
}

// TestPackageComment_HasTheTableOfInstruments: the code makes it.
//
//req:shows O2
func TestPackageComment_HasTheTableOfInstruments(t *testing.T) {
	var table strings.Builder
	for _, i := range instruments(t) {
		fmt.Fprintf(&table, "//\t%-34s %-13s  %-11s  %s\n", i.name, i.kind, i.unit, i.labels)
	}
	holds(t, "doc.go", `(//\tcontroller\..*\n)+`, table.String())
}

// TestThePageForOperators_HasTheTableOfInstruments, with their names in
// Prometheus.
func TestThePageForOperators_HasTheTableOfInstruments(t *testing.T) {
	var table strings.Builder
	for _, i := range instruments(t) {
		name := strings.ReplaceAll(i.name, ".", "_")
		if i.unit == "s" {
			name += "_seconds"
		}
		if i.kind == "counter" {
			name += "_total"
		}
		unit := i.unit
		if unit == "" {
			unit = "none"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s | %s | %s |\n", i.name, name, unit, i.kind, i.labels, i.meaning)
	}
	holds(t, "../examples/operate/metrics.md", "(\\| `controller\\..*\n)+", table.String())
}

// holds requires that a file has the table in the place of the pattern, and
// writes it there with -update.
func holds(t *testing.T, file, pattern, table string) {
	t.Helper()
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	found := regexp.MustCompile(pattern).FindAll(page, -1)
	require.Len(t, found, 1, file)
	if *update {
		page = []byte(strings.Replace(string(page), string(found[0]), table, 1))
		require.NoError(t, os.WriteFile(file, page, 0o644))
		return
	}
	assert.Equal(t, table, string(found[0]), "%s: run this test with -update", file)
}

// kindOf returns the kind of an instrument, and its attributes in the order of
// the alphabet.
func kindOf(data metricdata.Aggregation) (kind string, attributes []string) {
	switch d := data.(type) {
	case metricdata.Histogram[float64]:
		return "histogram", keysOf(d.DataPoints[0].Attributes)
	case metricdata.Gauge[int64]:
		return "gauge", keysOf(d.DataPoints[0].Attributes)
	case metricdata.Gauge[float64]:
		return "gauge", keysOf(d.DataPoints[0].Attributes)
	case metricdata.Sum[int64]:
		if d.IsMonotonic {
			return "counter", keysOf(d.DataPoints[0].Attributes)
		}
		return "updowncounter", keysOf(d.DataPoints[0].Attributes)
	}
	return "unknown", nil
}
