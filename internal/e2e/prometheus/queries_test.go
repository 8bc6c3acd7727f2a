// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus_test

import (
	"context"
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
	"github.com/proompteng/controllerkit/metrics/prom"
)

// window is the range of the rates, twenty scrapes.
const window = 10 * time.Second

// TestEveryQueryAnswers: a real Prometheus scrapes a controller under load.
// Every query of the dashboard, of the rules and of the runbooks has finite
// values, from fixed buckets and from native histograms alone.
//
//req:shows O3
func TestEveryQueryAnswers(t *testing.T) {
	for name, o := range map[string]prom.Options{
		"fixed buckets":     {Exemplars: true},
		"native histograms": {NativeHistograms: true},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(underLoad(t, o))
			defer web.Close()
			server := promtest.Start(t, promtest.Job{
				Name:   "agentrun",
				URL:    web.URL,
				Labels: map[string]string{"namespace": "agents", "cluster": "east"},
				Native: o.NativeHistograms,
			})
			queries := newPack(t).Queries()
			require.Greater(t, len(queries), 50)
			require.EventuallyWithT(t, func(c *assert.CollectT) { // in one pass
				for _, q := range queries {
					_, err := server.Values(t.Context(), q.Instant(window))
					assert.NoError(c, err, q.Source)
				}
				// Without the comparison that hides healthy series, each has
				// values, except the query for lost labels.
				for source, query := range runbookQueries(t) {
					expr := strings.TrimSuffix(query, " > 0")
					samples, err := server.Query(t.Context(), expr)
					require.NoError(c, err, source)
					lost := strings.Contains(expr, "otel_metric_overflow")
					assert.Equal(c, lost, len(samples) == 0, "%s: %s", source, expr)
				}
			}, 2*time.Minute, time.Second)
			buckets, err := server.Query(t.Context(), `{__name__=~"controller_.+_bucket"}`)
			require.NoError(t, err)
			assert.Equal(t, o.NativeHistograms, len(buckets) == 0, "fixed buckets")
		})
	}
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
