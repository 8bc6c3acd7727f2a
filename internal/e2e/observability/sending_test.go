// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// TestNothingIsSentUnasked: an endpoint alone enables no exporter. Without
// spans the log has no IDs.
//
//req:shows O2
func TestNothingIsSentUnasked(t *testing.T) {
	stage, collector := newStage(t), newReceiver(t)
	p := start(t, stage, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.url, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=50")
	ends(t, stage)
	require.NoError(t, p.Stop())
	requests, _ := collector.seen()
	assert.Zero(t, requests)
	for _, l := range logLines(t, p) {
		assert.Empty(t, l.Trace)
	}
}

// TestACollectorThatFails: the controller works, logs the failure once, and
// ends in time.
//
//req:shows O2
func TestACollectorThatFails(t *testing.T) {
	const told = "Telemetry was not delivered. The controller goes on, and logs the next failure in ten minutes or later"
	for name, tc := range map[string]struct {
		reason   string
		endpoint func(*testing.T) string
	}{
		"absent":  {"No server listens.", absent},
		"hangs":   {"It takes requests and answers none.", hangs},
		"refuses": {"It answers that it will not.", refuses},
	} {
		t.Run(name, func(t *testing.T) {
			stage := newStage(t)
			p := start(t, stage, "OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+tc.endpoint(t),
				"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=50")
			ends(t, stage)
			require.NoError(t, p.Stop(), tc.reason)
			said := 0
			for _, l := range logLines(t, p) {
				if l.Msg == told {
					said++
				}
			}
			assert.Equal(t, 1, said, tc.reason)
		})
	}
}

func absent(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

func hangs(t *testing.T) string {
	t.Helper()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	return server.URL
}

func refuses(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	return server.URL
}

// ends creates a run and waits until it has succeeded.
func ends(t *testing.T, stage *play.Stage) {
	t.Helper()
	run := &v1alpha1.AgentRun{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: v1alpha1.AgentRunSpec{Image: "busybox:1.37"}}
	_, err := stage.Runs.Create(t.Context(), run, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the run has succeeded", func(ctx context.Context) bool {
		now, err := stage.Runs.Get(ctx, run.Name, metav1.GetOptions{})
		return err == nil && now.Status.Phase == v1alpha1.Succeeded
	})
}
