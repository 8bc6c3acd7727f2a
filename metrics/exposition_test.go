// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The real exposition of every instrument, with the lowest and with the newest
// version of OpenTelemetry. If an upgrade renames an instrument, this test
// fails.
//
//req:shows O1
func TestExpositionIsAsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that durations are exact
		m, ep := newSet(t, metrics.Options{})
		exercise(t, m)
		golden := filepath.Join("testdata", "exposition.golden")
		// The endpoint's own metrics depend on the environment.
		got, _, _ := strings.Cut(body(t, ep), "# HELP promhttp_")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	})
}

//req:shows O2
func TestCatalogueAndExpositionAgree(t *testing.T) {
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} { // what they say becomes labels of target_info
		t.Setenv(name, "")
	}
	m, ep := newSet(t, metrics.Options{})
	exercise(t, m)
	help, types := map[string]string{}, map[string]string{}
	for line := range strings.Lines(body(t, ep)) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " ")
		name, text, _ := strings.Cut(rest, " ")
		switch kind {
		case "HELP":
			help[name] = text
		case "TYPE":
			types[name] = text
		}
	}
	promTypes := map[catalog.Kind]string{
		catalog.Counter: "counter", catalog.UpDownCounter: "gauge", catalog.Gauge: "gauge", catalog.Histogram: "histogram",
	}
	attributes := map[string][]string{"promhttp_metric_handler_errors_total": {"cause"}, "target_info": nil}
	for _, i := range catalog.Instruments().All() {
		name := i.PrometheusName()
		assert.Equal(t, i.Description, help[name], "%s: an instrument without series or of another name", i.Name)
		assert.Equal(t, promTypes[i.Kind], types[name], i.Name)
		attributes[name] = i.Attributes
	}
	for name := range types {
		assert.Contains(t, attributes, name, "a family that is not in the catalogue")
	}
	for series := range scrape(t, ep) {
		family, labels := parse(series, types)
		assert.ElementsMatch(t, attributes[family], labels, "%s: a query may rely on exactly these labels", family)
	}
}

// parse returns the family of a series and the names of its labels but le.
func parse(series string, types map[string]string) (family string, labels []string) {
	family, rest, _ := strings.Cut(series, "{")
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(family, suffix); ok && types[base] == "histogram" {
			family = base
		}
	}
	for pair := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		if label, _, ok := strings.Cut(pair, "="); ok && label != "le" {
			labels = append(labels, label)
		}
	}
	return family, labels
}

func TestPackageCommentHasTheTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var want, got []string
	for _, i := range catalog.Instruments().All() {
		want = append(want, strings.Join(strings.Fields(fmt.Sprint(i.Name, " ", i.Kind, " ", i.Unit, " ", strings.Join(i.Attributes, ", "))), " "))
	}
	for line := range strings.Lines(string(doc)) {
		if row, ok := strings.CutPrefix(line, "//\tcontroller."); ok {
			got = append(got, "controller."+strings.Join(strings.Fields(row), " "))
		}
	}
	assert.Equal(t, want, got)
}
