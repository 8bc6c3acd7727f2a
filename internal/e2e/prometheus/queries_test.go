// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
	"fmt"
	"iter"
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

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/manifest"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// window is that of the rates: ten scrapes.
const window = 10 * time.Second

// TestEveryQueryAnswers asks a real Prometheus, which scrapes a controller under load four times: as it is, and with a fault
// each that makes dashboards empty in silence. As it is, every query of the dashboard and of the rules has values, all of them finite;
// with a fault exactly those fail that depend on what is broken.
func TestEveryQueryAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	faults := map[string]struct {
		change func(exposition string) string
		broken *regexp.Regexp // the queries that must fail
		reason string
	}{
		"agentrun": {func(e string) string { return e }, regexp.MustCompile(`^$`), "as it is"},
		"infinite": {
			func(e string) string {
				return regexp.MustCompile(`(?m)^controller_\w+_bucket\{(.*,)?le="[0-9.e+]+"\}.*\n`).ReplaceAllString(e, "")
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
			func(e string) string { return strings.ReplaceAll(e, `fate="`, `outcome="`) },
			regexp.MustCompile(`by \(fate\)|fate="dropped"`), "a label is gone",
		},
	}
	endpoint := underLoad(ctx, t)
	var jobs []promtest.Job
	for name, f := range faults {
		server := httptest.NewServer(rewritten(endpoint, f.change))
		defer server.Close()
		jobs = append(jobs, promtest.Job{Name: name, URL: server.URL + "/metrics", Labels: map[string]string{"namespace": "agents"}})
	}
	server, err := promtest.Start(ctx, t.TempDir(), jobs...)
	require.NoError(t, err)
	defer func() { assert.NoError(t, server.Stop()) }()

	queries := newPack(t).Queries()
	require.Greater(t, len(queries), 50)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			var wrong []string
			var last error
			for {
				wrong = nil
				var want []string
				for _, q := range queries {
					if f.broken.MatchString(q.Expr) {
						want = append(want, q.Source)
					}
					if err := answer(ctx, server, name, q); err != nil {
						wrong, last = append(wrong, q.Source), err
					}
				}
				require.Equal(t, name != "agentrun", len(want) > 0, "the fault is one")
				if slices.Equal(want, wrong) {
					return
				}
				select {
				case <-ctx.Done():
					require.Equal(t, want, wrong, "%s; the last that failed: %v", f.reason, last)
				case <-time.After(time.Second): // the next scrape
				}
			}
		})
	}
	t.Run("runbooks", func(t *testing.T) { runbookQueries(ctx, t, server) })
}

// runbookQueries asks what the runbooks tell a person to ask. Without the comparison that leaves out what is well, each has values; but for
// the one that looks for lost labels, of which there are none.
func runbookQueries(ctx context.Context, t *testing.T, server *promtest.Server) {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "docs", "runbooks", pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	asked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
			asked++
			expr := strings.TrimSuffix(block[1], " > 0")
			samples, err := server.Query(ctx, expr)
			require.NoError(t, err, page)
			assert.Equal(t, strings.Contains(expr, "otel_metric_overflow"), len(samples) == 0, "%s: %s", page, expr)
		}
	}
	assert.Greater(t, asked, 20)
}

// answer asks one query of one job. Non-empty and finite, and with the labels that the legend names.
func answer(ctx context.Context, server *promtest.Server, job string, q manifest.Query) error {
	expr := strings.NewReplacer("$job", job, `job="agentrun"`, `job="`+job+`"`).Replace(q.Expr)
	samples, err := server.Query(ctx, manifest.Query{Expr: expr}.Instant(window))
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return fmt.Errorf("%s: no values: %s", q.Source, expr)
	}
	seen := map[string]bool{}
	for _, s := range samples {
		if v := float64(s.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: %v: %s", q.Source, v, expr)
		} else if v == 0 && q.Source == "panel Processes" {
			return fmt.Errorf("%s: none is up: %s", q.Source, expr)
		}
		for label := range s.Metric {
			seen[string(label)] = true
		}
	}
	// The first by clause is the outer one: inner ones say what is divided or which values count.
	if m := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(q.Expr); m != nil && regexp.MustCompile(`^(sum|max|histogram_quantile\(.*, sum) by`).MatchString(q.Expr) {
		for label := range strings.SplitSeq(m[1], ", ") {
			if label != "le" && !seen[label] {
				return fmt.Errorf("%s: no value has the label %s", q.Source, label)
			}
		}
	}
	return nil
}

// rewritten serves what h does with the body changed, in the format that Prometheus asked for.
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

// underLoad is the endpoint of a controller that does a bit of everything until ctx ends.
func underLoad(ctx context.Context, t *testing.T) http.Handler {
	t.Helper()
	endpoint, err := prom.New(prom.Options{Exemplars: true})
	require.NoError(t, err)
	m, err := metrics.New(endpoint, metrics.Options{})
	require.NoError(t, err)
	c := m.Controller("runs")
	c.SetWorkers(4)
	c.Retention(10*time.Minute, time.Hour, time.Hour)
	c.RunsActive(2)
	m.Leader("agentrun", true)
	c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: 3, Delayed: 1, Adds: time.Now().Unix(), Retries: time.Now().Unix() / 2, Oldest: time.Second, Unfinished: time.Second, Longest: time.Second}
	})
	m.ObserveConditions("AgentRun", func(context.Context) iter.Seq2[metrics.Condition, int64] {
		return func(yield func(metrics.Condition, int64) bool) {
			yield(metrics.Condition{Type: "Ready", Status: "True"}, 12)
		}
	})
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			result := []metrics.Result{metrics.Success, metrics.Success, metrics.RequeueAfter, metrics.Error}[n%4]
			c.Begin().End(ctx, &result)
			c.QueueWait(time.Duration(n%50) * time.Millisecond)
			c.Run(ctx, time.Duration(n%300)*time.Second, metrics.Success)
			c.Events("emitted", 1)
			c.StatusWrite("written", time.Duration(n%40)*time.Millisecond)
			m.ClientRequest(ctx, metrics.Request{Verb: "patch", Group: "batch", Resource: "jobs", Code: "2xx"}, 3*time.Millisecond)
			m.ClientRequest(ctx, metrics.Request{Verb: "get", Group: "", Resource: "secrets", Code: "4xx"}, time.Millisecond)
			m.ClientWait(ctx, time.Millisecond)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return endpoint
}
