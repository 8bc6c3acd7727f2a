// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/manifest"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// window is the range of the rates, twenty scrapes.
const window = 10 * time.Second

// TestEveryQueryAnswers queries a real Prometheus that scrapes a controller
// under load in four ways: unchanged, and with three faults that make
// dashboards empty without an error. Unchanged, every query of the dashboard
// and of the rules has finite values. With a fault, exactly the dependent
// queries fail.
//
//req:shows O3
func TestEveryQueryAnswers(t *testing.T) {
	faults := map[string]struct {
		change func(exposition string) string
		broken *regexp.Regexp // the queries that must fail
		reason string
	}{
		"agentrun": {func(e string) string { return e }, regexp.MustCompile(`^$`), "unchanged"},
		"infinite": {
			func(e string) string {
				return regexp.MustCompile(`(?m)^controller_\w+_bucket\{(.*,)?le="[-0-9.e+]+"\}.*\n`).ReplaceAllString(e, "")
			},
			regexp.MustCompile(`histogram_quantile`), "buckets of +Inf alone: every quantile is NaN",
		},
		"renamed": {
			func(e string) string {
				return strings.ReplaceAll(e, "controller_reconciles", "controller_reconciliations")
			},
			regexp.MustCompile(`controller_reconciles`), "an instrument has another name",
		},
		"unlabelled": {
			func(e string) string { return strings.ReplaceAll(e, `result="`, `outcome="`) },
			regexp.MustCompile(`\bresult\b`), "a label is gone",
		},
	}
	endpoint := underLoad(t, prom.Options{Exemplars: true})
	var jobs []promtest.Job
	for name, f := range faults {
		server := httptest.NewServer(rewritten(endpoint, f.change))
		defer server.Close()
		jobs = append(jobs, promtest.Job{Name: name, URL: server.URL, Labels: map[string]string{"namespace": "agents", "cluster": "east"}})
	}
	server := promtest.Start(t, jobs...)

	queries := newPack(t).Queries()
	require.Greater(t, len(queries), 50)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, q := range queries {
				if f.broken.MatchString(q.Expr) {
					want = append(want, q.Source)
				}
			}
			require.Equal(t, name != "agentrun", len(want) > 0, "the fault is one")
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				failed, err := unanswered(t.Context(), server, name, queries)
				assert.Equal(c, want, failed, "%s: %v", f.reason, err)
			}, 2*time.Minute, time.Second)
		})
	}
	t.Run("runbooks", func(t *testing.T) { runbookQueries(t, server) })
}

// unanswered returns the sources of the queries that fail for a job, and why
// they do.
func unanswered(ctx context.Context, server *promtest.Server, job string, queries []manifest.Query) (failed []string, errs error) {
	for _, q := range queries {
		err := answer(ctx, server, job, q)
		if err != nil {
			failed = append(failed, q.Source)
			errs = errors.Join(errs, fmt.Errorf("%s: %w", q.Source, err))
		}
	}
	return failed, errs
}

// TestEveryQueryAnswers_OfNativeHistograms: a real Prometheus scrapes native
// histograms alone, and every query of the dashboard, of the rules and of the
// runbooks has finite values.
//
//req:shows O3
func TestEveryQueryAnswers_OfNativeHistograms(t *testing.T) {
	web := httptest.NewServer(underLoad(t, prom.Options{NativeHistograms: true}))
	defer web.Close()
	server := promtest.Start(t, promtest.Job{
		Name: "agentrun", URL: web.URL, Labels: map[string]string{"namespace": "agents", "cluster": "east"}, Native: true,
	})
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		buckets, err := server.Query(t.Context(), `{__name__=~"controller_.+_bucket"}`)
		require.NoError(c, err)
		assert.Empty(c, buckets, "no fixed buckets")
		for _, q := range newPack(t).Queries() {
			assert.NoError(c, answer(t.Context(), server, "agentrun", q), q.Source)
		}
	}, 2*time.Minute, time.Second)
	t.Run("runbooks", func(t *testing.T) { runbookQueries(t, server) })
}

// promqlBlock is a query in a runbook.
var promqlBlock = regexp.MustCompile("(?s)```promql\n(.*?)\n```")

// runbookQueries sends the queries of the runbooks. Without the comparison that
// hides healthy series, each has values, except the query for lost labels.
func runbookQueries(t *testing.T, server *promtest.Server) {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "operate", "runbooks", pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	asked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range promqlBlock.FindAllStringSubmatch(string(text), -1) {
			asked++
			expr := strings.TrimSuffix(block[1], " > 0")
			require.EventuallyWithT(t, func(c *assert.CollectT) { // a scrape may have been missed
				samples, err := server.Query(t.Context(), expr)
				require.NoError(c, err, page)
				assert.Equal(c, strings.Contains(expr, "otel_metric_overflow"), len(samples) == 0, "%s: %s", page, expr)
			}, time.Minute, time.Second)
		}
	}
	assert.Greater(t, asked, 20)
}

// answer sends one query for one job. The answer must have values, all finite,
// and the labels of the legend.
func answer(ctx context.Context, server *promtest.Server, job string, q manifest.Query) error {
	expr := strings.NewReplacer("$job", job, `job="agentrun"`, `job="`+job+`"`).Replace(q.Expr)
	samples, err := server.Values(ctx, manifest.Query{Expr: expr}.Instant(window))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range samples {
		if s.Value == 0 && q.Source == "panel Processes" {
			return errors.New("none is up: " + expr)
		}
		for label := range s.Metric {
			seen[string(label)] = true
		}
	}
	// The first by clause is the outer one. Inner ones belong to divisions and
	// filters.
	if m := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(q.Expr); m != nil && regexp.MustCompile(`^\(?(sum|max|histogram_quantile\(.*, sum) by`).MatchString(q.Expr) {
		for label := range strings.SplitSeq(m[1], ", ") {
			if label != "le" && !seen[label] {
				return fmt.Errorf("no value has the label %s", label)
			}
		}
	}
	return nil
}

// rewritten serves h with a changed body, in the format that Prometheus
// requested.
func rewritten(h http.Handler, change func(string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		fmt.Fprint(w, change(rec.Body.String()))
	})
}

// underLoad returns the endpoint of a controller that uses every instrument
// until the test ends.
func underLoad(t *testing.T, o prom.Options) http.Handler {
	t.Helper()
	ctx := t.Context()
	endpoint, use := everyInstrument(t, o)
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			use(n)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return endpoint
}

// everyInstrument returns the endpoint of a controller, and a function that
// uses its instruments once, with values that depend on n.
func everyInstrument(t *testing.T, o prom.Options) (endpoint http.Handler, use func(n int)) {
	t.Helper()
	ctx := t.Context()
	ep, err := prom.New(o)
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
