// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// newSet is a set of instruments on a new endpoint.
func newSet(tb testing.TB, o metrics.Options) (*metrics.Metrics, *prom.Endpoint) {
	tb.Helper()
	ep, err := prom.New(prom.Options{Timeout: time.Minute})
	require.NoError(tb, err)
	m, err := metrics.New(ep, o)
	require.NoError(tb, err)
	return m, ep
}

// scrape returns the series of a scrape in the text format, each as
// "name{labels}" with its value as text.
func scrape(tb testing.TB, h http.Handler) map[string]string {
	tb.Helper()
	series := map[string]string{}
	for line := range strings.Lines(body(tb, h)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := cutLast(line, " ")
		require.True(tb, ok, line)
		_, twice := series[name]
		require.False(tb, twice, "%s is there twice", name)
		series[name] = value
	}
	return series
}

// process are the lines of a page about the process and Go's runtime.
var process = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?(go|process)_.*\n`)

// body returns the text of a scrape, without the metrics of the process.
func body(tb testing.TB, h http.Handler) string {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", http.NoBody))
	require.Equal(tb, http.StatusOK, w.Code, w.Body.String())
	return process.ReplaceAllString(w.Body.String(), "")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// with returns the series that contain all of parts.
func with(series map[string]string, parts ...string) map[string]string {
	found := maps.Clone(series)
	maps.DeleteFunc(found, func(name, _ string) bool {
		for _, p := range parts {
			if !strings.Contains(name, p) {
				return true
			}
		}
		return false
	})
	return found
}

// counted yields fixed counts.
func counted(counts map[metrics.Condition]int64) func(context.Context) iter.Seq2[metrics.Condition, int64] {
	return func(context.Context) iter.Seq2[metrics.Condition, int64] { return maps.All(counts) }
}

// exercise uses every recorder once, with numbers that differ.
func exercise(tb testing.TB, m *metrics.Metrics) {
	tb.Helper()
	ctx := tb.Context()
	c := m.Controller("agentrun")
	result := metrics.RequeueAfter
	c.Begin().End(ctx, &result)
	c.Begin()
	c.SetWorkers(4)
	c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{
			Depth: 3, Delayed: 5, Running: 1, Adds: 40, Retries: 7,
			Oldest: 90 * time.Second, Unfinished: 4 * time.Second, Longest: 1500 * time.Millisecond,
			Failing: 6, LongestFailing: 2 * time.Hour,
		}
	})
	c.QueueWait(20 * time.Millisecond)
	c.Runs().End(ctx, 7*time.Minute, metrics.Timeout)
	c.Runs().Active(2)
	c.Runs().JobMissing()
	c.Events()("emitted", 6)
	c.Events()("lost", 1)
	c.StatusWrites()("written", 30*time.Millisecond)
	c.Runs().Retention(10*time.Minute, 30*24*time.Hour, 7*24*time.Hour)
	m.ObserveConditions("AgentRun", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 12}))
	m.Leader("agents", true)
	m.ObserveCache("pods", func() time.Duration { return 45 * time.Second })
	m.ClientRequest(ctx, metrics.Request{Verb: "patch", Group: "batch", Resource: "jobs/status", Code: "2xx"}, 12*time.Millisecond)
	m.ClientWait(ctx, time.Millisecond)
	m.Controller("")
}
