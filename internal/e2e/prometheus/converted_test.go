// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestEveryQueryAnswers_OfConvertedHistograms: one Prometheus converts the
// fixed buckets that it scrapes to native histograms, another does not.
// Every expression of the dashboard, the rules, the recording rules and the
// runbooks that reads histograms has the same values in both. No expression has
// a warning.
//
//req:shows O3
func TestEveryQueryAnswers_OfConvertedHistograms(t *testing.T) {
	fixed, converted := newMemory(false), newMemory(true)
	endpoint, use := everyInstrument(t, prom.Options{})
	for n := range 40 {
		use(n)
		page := httptest.NewRecorder()
		endpoint.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		fixed.read(t, page)
		converted.read(t, page)
	}
	suffixes := regexp.MustCompile(`^controller_\w+_(bucket|sum|count)$`)
	for _, s := range converted.series {
		require.NotRegexp(t, suffixes, s.Metric.Get("__name__"), "it is converted")
	}
	histograms := 0
	for source, expr := range everyExpression(t) {
		want, err := fixed.query(t.Context(), expr)
		require.NoError(t, err, "%s: %s", source, expr)
		got, err := converted.query(t.Context(), expr)
		require.NoError(t, err, "%s: %s", source, expr)
		if !strings.Contains(expr, "histogram_") {
			continue
		}
		histograms++
		assert.InDeltaMapValues(t, want, got, 1e-9, "%s: %s", source, expr)
		assert.NotEmpty(t, got, "%s: %s", source, expr)
		for labels, value := range got {
			assert.False(t, math.IsNaN(value) || math.IsInf(value, 0), "%s: %s is %v", source, labels, value)
		}
	}
	assert.Greater(t, histograms, 20)
}

// everyExpression has the expressions by their users. The series that a
// recording rule names by a suffix of fixed buckets has no other form.
func everyExpression(t *testing.T) map[string]string {
	t.Helper()
	p := withOldNames(t)
	all := map[string]string{}
	for n, q := range p.Queries() {
		all[fmt.Sprintf("%s, query %d", q.Source, n)] = q.Instant(5 * time.Minute)
	}
	var rules ruleFile
	require.NoError(t, yaml.UnmarshalStrict(p.Rules(), &rules))
	for n, r := range rules.Groups[1].Rules {
		name := r["record"].(string)
		if strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum") {
			all[fmt.Sprintf("record %s, rule %d", name, n)] = r["expr"].(string)
		}
	}
	maps.Copy(all, runbookQueries(t))
	return all
}
