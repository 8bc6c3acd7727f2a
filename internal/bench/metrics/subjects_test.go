// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
)

// What is measured as controller-runtime's must be what its process exposes.
func TestControllerRuntimesOwnVectors(t *testing.T) {
	v, err := registered()
	require.NoError(t, err)
	v.reconcile("of another measure", running)
	populate(v, 2)
	v.reconcile("controller-0", running)
	assert.InDelta(t, 2, testutil.ToFloat64(v.total.WithLabelValues("controller-0", "success")), 0)
	assert.InDelta(t, 0, testutil.ToFloat64(v.active.WithLabelValues("controller-0")), 0)

	body := get(t, promhttp.HandlerFor(v.own, promhttp.HandlerOpts{}))
	assert.Contains(t, body, `controller_runtime_reconcile_time_seconds_count{controller="controller-0"} 2`)
	assert.Contains(t, body, `workqueue_adds_total{controller="controller-1",name="controller-1"} 1`)
	assert.NotContains(t, body, "go_")
	assert.NotContains(t, body, "of another measure")
}

func TestOursExposesEachController(t *testing.T) {
	h, err := populated(t.Context(), 2, metrics.Success, metrics.Error)
	require.NoError(t, err)
	body := get(t, h)
	assert.Contains(t, body, `controller_reconciles_total{controller="controller-1",result="error"} 1`)
	assert.Contains(t, body, `controller_queue_adds_total{controller="controller-0"} 1`)
	n, err := scrape(t.Context(), func() (http.Handler, error) { return h, nil }, false)
	require.NoError(t, err)
	assert.InDelta(t, len(body), n, 100, "the whole body is counted, whose own counters of scrapes move")
}

func TestAFailedScrapeIsNoMeasure(t *testing.T) {
	_, err := scrape(t.Context(), func() (http.Handler, error) { return http.NotFoundHandler(), nil }, false)
	assert.Error(t, err)
}

func get(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(body)
}
