// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/demo/play"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// TestNothingIsSentUnasked: an endpoint alone enables no exporter. Without
// spans the log has no IDs.
//
//req:shows O2
func TestNothingIsSentUnasked(t *testing.T) {
	collector := newReceiver(t)
	stage, p := start(t, endpoint(collector.url)...)
	ends(t, stage)
	require.NoError(t, p.Stop())
	assert.Zero(t, collector.seen().requests)
	for _, l := range logLines(t, p) {
		assert.Empty(t, l.Trace)
	}
}

// TestACollectorThatFails: the controller works, logs the failure once, and
// ends in time.
//
//req:shows O2
func TestACollectorThatFails(t *testing.T) {
	const line = "Telemetry was not delivered. The controller goes on, and logs the next failure in ten minutes or later"
	for name, tc := range map[string]struct {
		reason  string
		handler http.HandlerFunc
	}{
		"hangs": {"It takes requests and answers none.", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}},
		"refuses": {"It answers that it will not.", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }},
	} {
		t.Run(name, func(t *testing.T) {
			collector := httptest.NewServer(tc.handler)
			defer collector.Close()
			stage, p := start(t, endpoint(collector.URL, sendTraces, sendMetrics)...)
			ends(t, stage)
			require.NoError(t, p.Stop(), tc.reason)
			said := 0
			for _, l := range logLines(t, p) {
				if l.Msg == line {
					said++
				}
			}
			assert.Equal(t, 1, said, tc.reason)
		})
	}
}

// ends creates a run and waits until it has ended.
func ends(t *testing.T, stage *play.Stage) {
	t.Helper()
	_, err := stage.Runs.Create(t.Context(), play.NewRun("plain"), metav1.CreateOptions{})
	require.NoError(t, err)
	suite.AllEnded(t, stage, 1)
}
