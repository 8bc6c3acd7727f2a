// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// TestEveryQueryAnswers: every expression of the dashboard, the rules, the
// recording rules and the runbooks has finite values and no warning. A
// Prometheus that converts the fixed buckets that it scrapes to native
// histograms has the same values.
//
//req:shows O3
func TestEveryQueryAnswers(t *testing.T) {
	expressions := everyExpression(t)
	now := time.Now()
	plain := newServer(textparse.ParserOptions{})
	converts := newServer(textparse.ParserOptions{ConvertClassicHistogramsToNHCB: true})
	endpoint, use := everyInstrument(t)
	for n := range 40 {
		use(n)
		now = now.Add(30 * time.Second)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
		page := httptest.NewRecorder()
		endpoint.ServeHTTP(page, request)
		plain.read(t, page, now)
		converts.read(t, page, now)
	}
	buckets, err := converts.query(t.Context(), `{__name__=~"controller_.+_(bucket|sum|count)"}`, now)
	require.NoError(t, err)
	assert.Empty(t, buckets, "all are converted")
	for source, expr := range expressions {
		values := answers(t, plain, source, expr, now)
		same := answers(t, converts, source, expr, now)
		if strings.Contains(expr, "histogram_") {
			assert.InDeltaMapValues(t, values, same, 1e-9, "%s: %s", source, expr)
		}
	}
}

// answers returns the values of an expression, which must be finite. Only the
// query for lost labels has none.
func answers(t *testing.T, s *server, source, expr string, at time.Time) map[string]float64 {
	t.Helper()
	values, err := s.query(t.Context(), expr, at)
	require.NoError(t, err, "%s: %s", source, expr)
	lost := strings.Contains(expr, "otel_metric_overflow") && !strings.HasSuffix(expr, "vector(0)")
	assert.Equal(t, lost, len(values) == 0, "%s: %s", source, expr)
	for of, value := range values {
		assert.False(t, math.IsNaN(value) || math.IsInf(value, 0), "%s: %s is %v", source, of, value)
	}
	return values
}

// server is a Prometheus that this test hands its scrapes. Prometheus' own code
// parses the pages and evaluates the expressions. Debian's Prometheus is too
// old to convert histograms.
type server struct {
	engine  *promql.Engine
	options textparse.ParserOptions
	series  map[string]*promql.Series
}

func newServer(o textparse.ParserOptions) *server {
	return &server{
		engine:  promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})}),
		options: o,
		series:  map[string]*promql.Series{},
	}
}

// read stores a page.
func (s *server) read(t *testing.T, page *httptest.ResponseRecorder, at time.Time) {
	t.Helper()
	lines, err := textparse.New(page.Body.Bytes(), page.Header().Get("Content-Type"), nil, s.options)
	require.NoError(t, err)
	for {
		entry, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if entry != textparse.EntrySeries && entry != textparse.EntryHistogram {
			continue
		}
		var of labels.Labels
		lines.Labels(&of)
		series := s.of(of)
		if entry == textparse.EntrySeries {
			_, _, value := lines.Series()
			series.Floats = append(series.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
			continue
		}
		_, _, h, f := lines.Histogram()
		if h != nil {
			f = h.ToFloat(nil)
		}
		series.Histograms = append(series.Histograms, promql.HPoint{T: at.UnixMilli(), H: f.Copy()}) // the parser uses f again
	}
	up := s.of(labels.FromStrings("__name__", "up"))
	up.Floats = append(up.Floats, promql.FPoint{T: at.UnixMilli(), F: 1})
}

// of returns the series with these labels and those of the target.
func (s *server) of(of labels.Labels) *promql.Series {
	all := labels.NewBuilder(of).Set("cluster", "east").Set("namespace", "agents").Set("job", "agentrun").Set("instance", "10.0.0.1:8080")
	id := all.Labels().String()
	if s.series[id] == nil {
		s.series[id] = &promql.Series{Metric: all.Labels()}
	}
	return s.series[id]
}

// Querier is for the engine.
func (s *server) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := new(selected)
		for _, series := range s.series {
			if labels.Selector(matchers).Matches(series.Metric) {
				found.all = append(found.all, promql.NewStorageSeries(*series))
			}
		}
		return found
	}}, nil
}

// selected are the series that an expression selects.
type selected struct {
	all  []storage.Series
	next int
}

func (s *selected) Next() bool {
	s.next++
	return s.next <= len(s.all)
}

func (s *selected) At() storage.Series                { return s.all[s.next-1] }
func (s *selected) Err() error                        { return nil }
func (s *selected) Warnings() annotations.Annotations { return nil }

// query evaluates an expression. The values are by labels. A warning is an
// error.
func (s *server) query(ctx context.Context, expr string, at time.Time) (map[string]float64, error) {
	q, err := s.engine.NewInstantQuery(ctx, s, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	answer := q.Exec(ctx)
	samples, err := answer.Vector()
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, s := range samples {
		if s.H != nil {
			return nil, errors.New("the value is a histogram: " + s.Metric.String())
		}
		values[s.Metric.String()] = s.F
	}
	return values, errors.Join(answer.Warnings.AsErrors()...)
}

// everyExpression has the expressions by their users. The series that a
// recording rule names by a suffix of fixed buckets has no other form. The
// comparison that hides healthy series is left out.
func everyExpression(t *testing.T) map[string]string {
	t.Helper()
	p := withOldNames(t)
	all := map[string]string{}
	for n, q := range p.Queries() {
		all[fmt.Sprintf("%s, query %d", q.Source, n)] = q.Instant(5 * time.Minute)
	}
	require.Greater(t, len(all), 50)
	var rules ruleFile
	require.NoError(t, yaml.UnmarshalStrict(p.Rules(), &rules))
	for n, r := range rules.Groups[1].Rules {
		name := r["record"].(string)
		if strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum") {
			all[fmt.Sprintf("record %s, rule %d", name, n)] = r["expr"].(string)
		}
	}
	for source, query := range runbookQueries(t) {
		all[source] = strings.TrimSuffix(query, " > 0")
	}
	return all
}

// runbookQueries returns the queries of the runbooks, by page.
func runbookQueries(t *testing.T) map[string]string {
	t.Helper()
	block := regexp.MustCompile("(?s)```promql\n(.*?)\n```")
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		runbooks := filepath.Join("..", "..", "..", "examples", "operate", "runbooks")
		pages, err := filepath.Glob(filepath.Join(runbooks, pattern))
		require.NoError(t, err)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for n, found := range block.FindAllStringSubmatch(string(text), -1) {
				all[fmt.Sprintf("%s, block %d", filepath.Base(page), n)] = found[1]
			}
		}
	}
	require.Greater(t, len(all), 20)
	return all
}

// everyInstrument returns the endpoint of a controller, and a function that
// uses its instruments once, with values that depend on n.
func everyInstrument(t *testing.T) (endpoint http.Handler, use func(n int)) {
	t.Helper()
	ctx := t.Context()
	ep, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	c := m.Controller("runs")
	c.SetWorkers(4)
	runs := c.Runs()
	runs.Retention(10*time.Minute, time.Hour, time.Hour)
	runs.Active(2)
	m.Leader("agentrun", true)
	m.ObserveCache("jobs", func() time.Duration { return 30 * time.Second })
	c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: 3, Delayed: 1, Adds: time.Now().Unix(), Retries: time.Now().Unix() / 2, Oldest: time.Second, Unfinished: time.Second, Longest: time.Second, LongestFailing: time.Second}
	})
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			yield(metrics.Condition{Type: "Ready", Status: "True"}, 12)
		}
	})
	events, writes := c.Events(), c.StatusWrites()
	return ep, func(n int) {
		result := []metrics.Result{metrics.Success, metrics.Success, metrics.RequeueAfter, metrics.Error}[n%4]
		c.Begin().End(ctx, &result)
		c.QueueWait(time.Duration(n%50) * time.Millisecond)
		runs.End(ctx, time.Duration(n%300)*time.Second, metrics.Success)
		events("emitted", 1)
		writes("written", time.Duration(n%40)*time.Millisecond)
		m.ClientRequest(ctx, metrics.Request{Verb: "patch", Group: "batch", Resource: "jobs", Code: "2xx"}, 3*time.Millisecond)
		m.ClientRequest(ctx, metrics.Request{Verb: "get", Group: "", Resource: "secrets", Code: "4xx"}, time.Millisecond)
		m.ClientWait(ctx, time.Millisecond)
	}
}
