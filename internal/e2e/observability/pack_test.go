// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/observability"
	"github.com/proompteng/controllerkit/internal/e2e/promtest"
	"github.com/proompteng/controllerkit/metrics/catalog"
	"github.com/proompteng/controllerkit/metrics/manifest"
)

// TestThePackUnderLoad: a real Prometheus scrapes the example while runs
// succeed and fail. Every query of the dashboard and of the rules has finite
// values. A failed reconcile has an exemplar, a log line and a span with the
// same trace. The scraped metrics are exported by OTLP too.
//
//req:shows O2 O4
func TestThePackUnderLoad(t *testing.T) {
	stage, collector := newStage(t), newReceiver(t)
	p := start(t, stage, "OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.url,
		"OTEL_BSP_SCHEDULE_DELAY=200", "OTEL_METRIC_EXPORT_INTERVAL=500")
	prometheus, err := promtest.Start(t.Context(), dir(t), promtest.Job{Name: observability.Job, URL: p.URL + "/metrics", Interval: 500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, prometheus.Stop()) })

	loading, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() { assert.NoError(t, observability.Load(loading, stage, 250*time.Millisecond)) })
	t.Cleanup(load.Wait)
	t.Cleanup(stop)

	t.Run("EveryQueryAnswers", func(t *testing.T) { everyQueryAnswers(t, prometheus) })
	t.Run("ExemplarLogLineAndSpanNameOneTrace", func(t *testing.T) { oneTrace(t, prometheus, p, collector) })
	t.Run("MetricsAreSentToo", func(t *testing.T) {
		for _, i := range catalog.Instruments().All() {
			eventually(t, i.Name+" was received", func(context.Context) bool { return collector.has(i.Name) })
		}
		_, services := collector.seen()
		assert.Equal(t, []string{"agentrun"}, services, "spans and metrics name the same service")
	})
}

// everyQueryAnswers sends all queries until each has an answer in one pass.
func everyQueryAnswers(t *testing.T, prometheus *promtest.Server) {
	t.Helper()
	pack, err := manifest.New(manifest.Target{Name: observability.Job})
	require.NoError(t, err)
	queries := pack.Queries()
	require.Greater(t, len(queries), 40)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		var open []string
		for _, q := range queries {
			if err := answers(ctx, prometheus, q.Instant(10*time.Second)); err != nil {
				open = append(open, q.Source+": "+q.Instant(10*time.Second)+": "+err.Error())
			}
		}
		if len(open) == 0 {
			t.Logf("%d queries answered", len(queries))
			return
		}
		if !wait(ctx, time.Second) {
			require.Empty(t, open, "of %d queries", len(queries))
		}
	}
}

// answers sends one query for the current time. An empty answer, a value that
// is not finite, and a warning are errors.
func answers(ctx context.Context, prometheus *promtest.Server, query string) error {
	vector, err := prometheus.Query(ctx, query)
	if err != nil {
		return err
	}
	if len(vector) == 0 {
		return errors.New("the answer is empty")
	}
	for _, sample := range vector {
		if v := float64(sample.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", sample.Metric, v)
		}
	}
	return nil
}

// oneTrace finds an exemplar of a failed reconcile. Its trace must have a log
// line and a span.
func oneTrace(t *testing.T, prometheus *promtest.Server, p *rig.Process, collector *receiver) {
	t.Helper()
	const selector = `controller_reconcile_duration_seconds_bucket{result=~"error|terminal_error"}`
	var found []promv1.ExemplarQueryResult
	eventually(t, "there is an exemplar of a failed reconcile", func(ctx context.Context) bool {
		var err error
		found, err = prometheus.API.QueryExemplars(ctx, selector, time.Now().Add(-time.Minute), time.Now())
		return err == nil && len(found) > 0
	})
	lines := failedReconciles(t, p)
	ids := map[string]bool{}
	for _, l := range lines {
		ids[l.ReconcileID] = true
	}
	assert.Len(t, ids, len(lines), "each reconcile has a separate ID")
	for _, series := range found {
		for _, exemplar := range series.Exemplars {
			trace := string(exemplar.Labels["trace_id"])
			line, ok := lines[trace]
			require.True(t, ok, "the trace %s of an exemplar is in no log line", trace)
			assert.Equal(t, string(series.SeriesLabels["result"]), line.Result)
			assert.Equal(t, string(exemplar.Labels["span_id"]), line.Span)
			assert.Equal(t, identity{"agentrun", "agents.controllerkit.dev", "AgentRun"}, line.identity, "as controller-runtime names them")
			assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, line.ReconcileID)

			eventually(t, "the span of the trace was received", func(context.Context) bool { _, ok := collector.span(trace); return ok })
			span, _ := collector.span(trace)
			assert.Equal(t, "reconcile AgentRun", span.name)
			assert.True(t, span.failed)
			assert.Equal(t, line.Err, span.message)
			assert.Equal(t, line.Result, span.attributes["result"])
			assert.Equal(t, "MissingSecret", span.attributes["error.type"])
			assert.Equal(t, line.Name, span.attributes["agentrun.name"])
			assert.Equal(t, line.Namespace, span.attributes["k8s.namespace.name"])
		}
	}
}

// line is a line of the controller's log.
type line struct {
	identity

	Msg, Err, Namespace, Name, Result string
	ReconcileID                       string
	Trace                             string `json:"trace_id"`
	Span                              string `json:"span_id"`
}

// identity is the object of the reconcile.
type identity struct{ Controller, ControllerGroup, ControllerKind string }

// failedReconciles returns the log lines of failed reconciles, by trace.
func failedReconciles(t *testing.T, p *rig.Process) map[string]line {
	t.Helper()
	all := map[string]line{}
	for _, l := range logLines(t, p) {
		if l.Msg == "reconcile failed" {
			all[l.Trace] = l
		}
	}
	return all
}

func logLines(t *testing.T, p *rig.Process) (all []line) {
	t.Helper()
	f, err := os.Open(p.Log)
	require.NoError(t, err)
	defer f.Close()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) == nil {
			all = append(all, l)
		}
	}
	return slices.Clip(all)
}

// eventually waits until what becomes true, for at most two minutes because the
// machine may be loaded.
func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !is(ctx) {
		require.True(t, wait(ctx, 50*time.Millisecond), "waiting until %s", what)
	}
}

// wait sleeps for d; false means that ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
