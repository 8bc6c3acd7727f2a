// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
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

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/mixin"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// query is an expression and its user.
type query struct {
	source string
	expr   string
	unit   string // of a panel's values, in Grafana's words
	always bool   // it has values while nothing is wrong
}

// queries returns each expression of the alerts, the panels and the runbooks.
// The variables of the dashboard are All, and it shows a range of time.
func queries(t *testing.T, shown string) []query {
	t.Helper()
	var all []query
	for n, rule := range rules(t) {
		all = append(all, query{source: fmt.Sprintf("alert %d, %s", n, rule.Alert), expr: rule.Expr})
	}
	var dashboard struct {
		Panels []struct {
			Title       string
			FieldConfig struct{ Defaults struct{ Unit string } }
			Targets     []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(mixin.Dashboard(), &dashboard))
	for _, panel := range dashboard.Panels {
		for n, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$__range", shown).Replace(target.Expr)
			expr = regexp.MustCompile(`"\$\w+"`).ReplaceAllString(expr, `".*"`)
			all = append(all, query{
				source: fmt.Sprintf("panel %s, query %d", panel.Title, n),
				expr:   expr,
				unit:   panel.FieldConfig.Defaults.Unit,
				always: true,
			})
		}
	}
	block := regexp.MustCompile("(?s)```promql\n(.*?)\n```")
	runbooks := filepath.Join("..", "..", "..", "examples", "operate", "runbooks")
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	require.NoError(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for n, found := range block.FindAllStringSubmatch(string(text), -1) {
			all = append(all, query{
				source: fmt.Sprintf("%s, block %d", filepath.Base(page), n),
				expr:   strings.TrimSuffix(found[1], " > 0"), // hides what is healthy
				always: !strings.Contains(found[1], "otel_metric_overflow"),
			})
		}
	}
	require.Greater(t, len(all), 80)
	return all
}

// TestEveryQueryAnswers: each expression of the dashboard and the runbooks has
// finite values, and no expression has a warning. A Prometheus that converts
// the fixed buckets that it scrapes to native histograms has the same values.
// Each query names series that exist, by labels that they have.
//
//req:shows O3
func TestEveryQueryAnswers(t *testing.T) {
	now := time.Now()
	plain := newServer(textparse.ParserOptions{})
	converts := newServer(textparse.ParserOptions{ConvertClassicHistogramsToNHCB: true})
	endpoint, use := everyInstrument(t)
	for n := range 40 {
		use(n)
		now = now.Add(30 * time.Second)
		page := scrape(t, endpoint)
		plain.read(t, page, now)
		converts.read(t, page, now)
	}
	buckets, err := converts.query(t.Context(), `{__name__=~"controller_.+_(bucket|sum|count)"}`, now)
	require.NoError(t, err)
	assert.Empty(t, buckets, "all are converted")
	known := converts.labels() // the names of native histograms, and those of fixed buckets
	maps.Copy(known, plain.labels())
	for _, q := range queries(t, "5m") {
		values := answers(t, plain, q, now)
		same := answers(t, converts, q, now)
		if strings.Contains(q.expr, "histogram_") {
			assert.InDeltaMapValues(t, values, same, 1e-9, "%s: %s", q.source, q.expr)
		}
		assertNames(t, q, known)
	}
}

func scrape(t *testing.T, endpoint http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	page := httptest.NewRecorder()
	endpoint.ServeHTTP(page, request)
	return page
}

// answers returns the values of an expression, which must be finite.
func answers(t *testing.T, s *server, q query, at time.Time) map[string]float64 {
	t.Helper()
	values, err := s.query(t.Context(), q.expr, at)
	require.NoError(t, err, "%s: %s", q.source, q.expr)
	if q.always {
		assert.NotEmpty(t, values, "%s: %s", q.source, q.expr)
	}
	for of, value := range values {
		assert.False(t, math.IsNaN(value) || math.IsInf(value, 0), "%s: %s is %v", q.source, of, value)
	}
	return values
}

// labels returns the names of all series, with the labels that they have.
func (s *server) labels() map[string][]string {
	all := map[string][]string{}
	for _, series := range s.series {
		for name := range series.Metric.Map() {
			all[series.Metric.Get("__name__")] = append(all[series.Metric.Get("__name__")], name)
		}
	}
	return all
}

// assertNames compares the names and labels of a query with those of the series
// that exist, and the unit of a panel with the metrics of its query.
func assertNames(t *testing.T, q query, known map[string][]string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	require.NoError(t, err, q.source)
	var has []string // the labels of all series of the query
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		if selector.Name == "" { // {__name__=~"controller_.+"}
			has = append(has, "cluster", "namespace", "job", "__name__")
			return nil
		}
		own, exists := known[selector.Name]
		assert.True(t, exists, "%s: nothing records %s", q.source, selector.Name)
		has = append(has, own...)
		for _, matcher := range selector.LabelMatchers {
			assert.Contains(t, own, matcher.Name, "%s: %s", q.source, selector)
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var by []string
		switch node := node.(type) {
		case *parser.AggregateExpr:
			by = node.Grouping
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				by = node.VectorMatching.MatchingLabels
			}
		}
		for _, label := range by {
			assert.Contains(t, has, label, "%s: %s", q.source, node)
		}
		return nil
	})
	if q.unit != "" {
		assert.Equal(t, unit(q.expr), q.unit, "%s: %s", q.source, q.expr)
	}
}

// unit returns the unit of an expression's values, in Grafana's words.
func unit(expr string) string {
	switch {
	case strings.Contains(expr, "/"):
		return "percentunit"
	case strings.Contains(expr, "histogram_quantile"):
		return "s"
	case strings.HasPrefix(expr, "max by") && strings.Contains(expr, "changes("),
		strings.Contains(expr, "process_cpu_seconds_total"), strings.Contains(expr, "increase("):
		return "short" // a number of times, cores, occurrences
	case strings.Contains(expr, "rate("):
		return "ops"
	case strings.Contains(expr, "_bytes{"):
		return "bytes"
	case strings.Contains(expr, "_seconds{"):
		return "s"
	}
	return "short"
}

// TestVictoriaMetricsTakesEveryQuery: the parser of VictoriaMetrics knows each
// function and each form of the alerts, the panels and the runbooks.
//
//req:shows O3
func TestVictoriaMetricsTakesEveryQuery(t *testing.T) {
	for _, q := range queries(t, "5m") {
		_, err := metricsql.Parse(q.expr)
		require.NoError(t, err, "%s: %s", q.source, q.expr)
	}
	_, err := metricsql.Parse("histogram_count(rate(controller_queue_wait_duration_seconds[5m]))")
	require.Error(t, err, "the parser knows which functions there are")
}

// TestTheBaseIsWhatAControllerRecords: the stories have only series that the
// instruments have.
func TestTheBaseIsWhatAControllerRecords(t *testing.T) {
	endpoint, use := everyInstrument(t)
	use(0)
	recorded := newServer(textparse.ParserOptions{})
	recorded.read(t, scrape(t, endpoint), time.Now())
	known := recorded.labels()
	file := read(t)
	assert.NotEmpty(t, file.Base)
	written := []map[string]string{file.Base, file.Standby}
	for _, s := range file.Stories {
		written = append(written, s.Series)
	}
	for _, series := range written {
		for metric := range series {
			of, _, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(metric)
			require.NoError(t, err, metric)
			for name := range of.Map() {
				own := known[of.Get("__name__")]
				if of.Get("__name__") == "controller_reconcile_duration_seconds" {
					own = known["controller_reconcile_duration_seconds_count"] // a native histogram
				}
				aside := slices.Contains([]string{"scope", "otel_metric_overflow"}, name)
				assert.True(t, aside || slices.Contains(own, name), "nothing records %s", metric)
			}
		}
	}
}

// everyInstrument returns the endpoint of a controller in two clusters, and a
// function that uses its instruments once, with values that depend on n.
func everyInstrument(t *testing.T) (endpoint http.Handler, use func(n int)) {
	t.Helper()
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	here := instruments(t, m)
	there := instruments(t, m.Scope("west"))
	return ep, func(n int) {
		here(n)
		there(n)
	}
}

func instruments(t *testing.T, m *metrics.Metrics) (use func(n int)) {
	t.Helper()
	c := m.Controller("runs")
	c.SetWorkers(4)
	runs := c.Runs()
	runs.Retention(10*time.Minute, time.Hour, time.Hour)
	runs.Active(2)
	lease, err := m.Lease("agentrun")
	require.NoError(t, err)
	lease.Set(true)
	m.ObserveCache("jobs", func() time.Duration { return 30 * time.Second })
	require.NoError(t, c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: 3, Unfinished: time.Second, Longest: time.Second}
	}))
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			yield(metrics.Condition{Type: "Ready", Status: "True"}, 12)
		}
	})
	events := c.Events()
	writes := c.StatusWrites()
	reconcile := func(ctx context.Context, n int) (err error) {
		_, done := c.Begin(ctx, n%4)
		after := time.Duration(n%2) * time.Second
		defer done(&err, &after)
		if n%4 == 3 {
			return fmt.Errorf("reconcile %d", n) //nolint:err113 // of this reconcile
		}
		return nil
	}
	return func(n int) {
		ctx := t.Context()
		_ = reconcile(ctx, n)
		c.QueueAdd()
		c.QueueRetry()
		c.QueueWait(time.Duration(n%50) * time.Millisecond)
		runs.End(ctx, time.Duration(n%300)*time.Second, metrics.Success)
		events("emitted", 1)
		writes("written", time.Duration(n%40)*time.Millisecond)
		m.ClientRequest(ctx, metrics.Request{Verb: "patch", Group: "batch", Resource: "jobs", Code: "2xx"}, 3*time.Millisecond)
		m.ClientRequest(ctx, metrics.Request{Verb: "get", Group: "", Resource: "secrets", Code: "4xx"}, time.Millisecond)
	}
}
