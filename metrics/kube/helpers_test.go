// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

func newSet(t testing.TB) (*metrics.Metrics, *prom.Endpoint) {
	t.Helper()
	ep, err := prom.New(prom.Options{})
	require.NoError(t, err)
	m, err := metrics.New(ep, metrics.Options{})
	require.NoError(t, err)
	return m, ep
}

// scrape returns the series whose name contains part, with their values as text.
func scrape(t testing.TB, h http.Handler, part string) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code)
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if i := strings.LastIndex(line, " "); line[0] != '#' && strings.Contains(line, part) {
			series[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return series
}
