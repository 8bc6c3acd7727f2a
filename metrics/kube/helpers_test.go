// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func newSet(tb testing.TB) (*metrics.Metrics, *prom.Endpoint) {
	tb.Helper()
	ep, err := prom.New(prom.Options{
		Timeout: time.Minute, // a slow machine must not look like a callback that hangs
		OnError: func(err error) { assert.NoError(tb, err) },
	})
	require.NoError(tb, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(tb, err)
	return m, ep
}

// scrape returns the series whose name contains part, with their values as
// text.
func scrape(tb testing.TB, h http.Handler, part string) map[string]string {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody))
	require.Equal(tb, http.StatusOK, w.Code)
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if i := strings.LastIndex(line, " "); line[0] != '#' && strings.Contains(line, part) {
			series[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return series
}
