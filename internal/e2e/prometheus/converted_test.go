// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics/manifest"
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
	const interval = 30 * time.Second
	target := map[string]string{"cluster": "east", "namespace": "agents", "job": "agentrun", "instance": "10.0.0.1:8080"}
	fixed := newMemory(false, target)
	converted := newMemory(true, target)
	endpoint, use := everyInstrument(t, prom.Options{})
	for n := range 40 {
		use(n)
		page := recorded(t, endpoint)
		fixed.scrape(t, page, interval)
		converted.scrape(t, page, interval)
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

// recorded answers each scrape with what h serves now.
func recorded(t *testing.T, h http.Handler) http.Handler {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", w.Header().Get("Content-Type"))
		to.WriteHeader(w.Code)
		_, _ = to.Write(w.Body.Bytes())
	})
}

// everyExpression has the expressions by their users. The series that a
// recording rule names by a suffix of fixed buckets has no other form.
func everyExpression(t *testing.T) map[string]string {
	t.Helper()
	p, err := manifest.New(manifest.Target{Name: "agentrun", Namespace: "agents", OldNames: true})
	require.NoError(t, err)
	all := map[string]string{}
	for n, q := range p.Queries() {
		all[fmt.Sprintf("%s, query %d", q.Source, n)] = q.Instant(5 * time.Minute)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(p.Rules(), &rules))
	for _, group := range rules.Groups {
		for n, r := range group.Rules {
			if strings.HasSuffix(r.Record, "_count") || strings.HasSuffix(r.Record, "_sum") {
				all[fmt.Sprintf("record %s, rule %d", r.Record, n)] = r.Expr
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "operate", "runbooks", "*.md"))
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for n, block := range promqlBlock.FindAllStringSubmatch(string(text), -1) {
			all[fmt.Sprintf("%s, block %d", filepath.Base(page), n)] = block[1]
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(all)), []string{"ControllerReconcileSlow.md, block 0"})
	return all
}
