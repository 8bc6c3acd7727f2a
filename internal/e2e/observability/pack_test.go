// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestThePackUnderLoad: of the samples that run, one waits for its Secret and
// fails. A failed reconcile has an exemplar and a span with the same trace, and
// controller-runtime's log line has the ID of the reconcile, which the span has
// too. A line of the reconcile itself has the trace. Each metric is exported by
// OTLP too. Suite prometheus has the queries of the dashboard and the rules.
//
//req:shows O2 O4
func TestThePackUnderLoad(t *testing.T) {
	collector := newReceiver(t)
	stage, p := start(t, endpoint(collector.url, sendTraces, sendMetrics)...)
	samples, err := play.Load()
	require.NoError(t, err)
	for _, s := range samples {
		require.NoError(t, s.Create(t.Context(), stage))
	}

	t.Run("ExemplarLogLineAndSpanNameOneTrace", func(t *testing.T) { oneTrace(t, p, collector) })
	t.Run("MetricsAreSentToo", func(t *testing.T) {
		doc, err := os.ReadFile("../../../metrics/doc.go")
		require.NoError(t, err)
		table := regexp.MustCompile(`(?m)^//\t(controller\.\S+) `).FindAllSubmatch(doc, -1)
		require.Greater(t, len(table), 20)
		for _, row := range table {
			name := string(row[1])
			suite.Eventually(t, name+" was received", func(context.Context) bool { return collector.seen().metrics[name] })
		}
		assert.Equal(t, map[string]bool{"agentrun": true}, collector.seen().services, "spans and metrics name the same service")
	})
}

// oneTrace finds an exemplar of a failed reconcile. Its trace must have a log
// line and a span.
func oneTrace(t *testing.T, p *rig.Process, collector *receiver) {
	t.Helper()
	pattern := regexp.MustCompile(`(?m)^controller_reconcile_duration_seconds_bucket\{.*result="(error|terminal_error)".* # \{span_id="(.*)",trace_id="(.*)"\}`)
	var exemplar []string
	var span *spanpb.Span
	suite.Eventually(t, "an exemplar of a failed reconcile was seen, and its span", func(ctx context.Context) bool {
		exemplar = pattern.FindStringSubmatch(openMetrics(ctx, t, p))
		if exemplar == nil {
			return false
		}
		span = collector.seen().spans[exemplar[3]]
		return span != nil
	})
	attributes := texts(span.GetAttributes())
	var failed line
	suite.Eventually(t, "the failed reconcile is logged", func(context.Context) bool {
		for _, l := range logLines(t, p) {
			if l.Msg == "Reconciler error" && l.ReconcileID == attributes["reconcileID"] {
				failed = l
			}
		}
		return failed.Msg != ""
	})
	assert.Equal(t, identity{"agentrun", "agents.controllerkit.dev", "AgentRun"}, failed.identity)
	assert.Equal(t, "reconcile agentrun", span.GetName())
	assert.Equal(t, spanpb.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode())
	assert.Equal(t, exemplar[1], span.GetStatus().GetMessage())
	require.Len(t, span.GetEvents(), 1)
	assert.Equal(t, failed.Err, texts(span.GetEvents()[0].GetAttributes())["exception.message"])
	assert.Equal(t, exemplar[1], attributes["result"])
	assert.Equal(t, "MissingSecret", attributes["error.type"])
	assert.Equal(t, failed.Name, attributes["agentrun.name"])
	assert.Equal(t, failed.Namespace, attributes["k8s.namespace.name"])

	var ended line
	suite.Eventually(t, "the end of a run is logged with the trace of its reconcile", func(context.Context) bool {
		for _, l := range logLines(t, p) {
			if l.Msg == "Run ended" {
				ended = l
			}
		}
		return ended.Msg != ""
	})
	assert.Regexp(t, `^[0-9a-f]{32}$`, ended.Trace)
	assert.Regexp(t, `^[0-9a-f]{16}$`, ended.Span)
	assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, ended.ReconcileID)
	suite.Eventually(t, "its span was received", func(context.Context) bool { return collector.seen().spans[ended.Trace] != nil })
}

// openMetrics returns the page that has exemplars.
func openMetrics(ctx context.Context, t *testing.T, p *rig.Process) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/metrics", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/openmetrics-text")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(page)
}

// line is a line of the controller's log.
type line struct {
	identity

	Msg, Err, Namespace, Name string
	ReconcileID               string
	Trace                     string `json:"trace_id"`
	Span                      string `json:"span_id"`
}

// identity is the object of the reconcile.
type identity struct{ Controller, ControllerGroup, ControllerKind string }

func logLines(t *testing.T, p *rig.Process) []line {
	t.Helper()
	lines, err := rig.Lines[line](p)
	require.NoError(t, err)
	return lines
}
