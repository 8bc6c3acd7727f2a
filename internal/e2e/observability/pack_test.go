// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/metrics/catalog"
)

// TestThePackUnderLoad: of the samples that run, one waits for its Secret and
// fails. A failed reconcile has an exemplar, a log line and a span with the
// same trace. Each metric is exported by OTLP too. Suite prometheus has the
// queries of the dashboard and the rules.
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
		for _, i := range catalog.Instruments().All() {
			suite.Eventually(t, i.Name+" was received", func(context.Context) bool { return collector.seen().metrics[i.Name] })
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
	lines, ids := map[string]line{}, map[string]bool{} // of failed reconciles
	for _, l := range logLines(t, p) {
		if l.Msg == "Reconcile failed" {
			lines[l.Trace], ids[l.ReconcileID] = l, true
		}
	}
	assert.Len(t, ids, len(lines), "each reconcile has a separate ID")
	line, ok := lines[exemplar[3]]
	require.True(t, ok, "the trace %s of an exemplar is in no log line", exemplar[3])
	assert.Equal(t, exemplar[1], line.Result)
	assert.Equal(t, exemplar[2], line.Span)
	assert.Equal(t, identity{"agentrun", "agents.controllerkit.dev", "AgentRun"}, line.identity, "as controller-runtime names them")
	assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, line.ReconcileID)

	attributes := texts(span.GetAttributes())
	assert.Equal(t, "reconcile AgentRun", span.GetName())
	assert.Equal(t, spanpb.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode())
	assert.Equal(t, line.Result, span.GetStatus().GetMessage())
	require.Len(t, span.GetEvents(), 1)
	assert.Equal(t, line.Err, texts(span.GetEvents()[0].GetAttributes())["exception.message"])
	assert.Equal(t, line.Result, attributes["result"])
	assert.Equal(t, "MissingSecret", attributes["error.type"])
	assert.Equal(t, line.Name, attributes["agentrun.name"])
	assert.Equal(t, line.Namespace, attributes["k8s.namespace.name"])
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

	Msg, Err, Namespace, Name, Result string
	ReconcileID                       string
	Trace                             string `json:"trace_id"`
	Span                              string `json:"span_id"`
}

// identity is the object of the reconcile.
type identity struct{ Controller, ControllerGroup, ControllerKind string }

func logLines(t *testing.T, p *rig.Process) []line {
	t.Helper()
	lines, err := rig.Lines[line](p)
	require.NoError(t, err)
	return lines
}
