// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// encoded is a scrape with that Accept-Encoding.
func encoded(tb testing.TB, h http.Handler, codings ...string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header["Accept-Encoding"] = codings
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestScrape_IsCompressedForAClientThatAcceptsGzip(t *testing.T) {
	ep := endpoint(t, prom.Options{NoProcessMetrics: true}, 50)
	plain := text(t, ep)
	cases := map[string]struct {
		reason  string
		codings []string
		gzip    bool
	}{
		"Prometheus":    {"It names gzip alone.", []string{"gzip"}, true},
		"Browser":       {"It names several codings.", []string{"gzip, deflate, br, zstd"}, true},
		"TwoHeaders":    {"A list may be split into headers.", []string{"br", "GZIP;q=0.5"}, true},
		"Nothing":       {"Without the header any coding is allowed, and the plain one is understood by all.", nil, false},
		"Empty":         {"An empty list allows the plain one alone.", []string{""}, false},
		"Other":         {"Only gzip is offered.", []string{"zstd, x-gzip, gzipped"}, false},
		"Forbidden":     {"A weight of 0 forbids a coding.", []string{"gzip;q=0, identity"}, false},
		"ForbiddenToo":  {"So does a weight of 0.000.", []string{"gzip ; Q=0.000"}, false},
		"NotAWeight":    {"A weight that is no number forbids it, to be safe.", []string{"gzip;q=much"}, false},
		"NoWeightAtAll": {"So does a parameter that is no weight.", []string{"gzip;level=9"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second with the writer of the first
				w := encoded(t, ep, tc.codings...)
				require.Equal(t, http.StatusOK, w.Code)
				if !tc.gzip {
					assert.Empty(t, w.Header().Values("Content-Encoding"), tc.reason)
					assert.Equal(t, plain, w.Body.String(), tc.reason)
					continue
				}
				assert.Equal(t, []string{"gzip"}, w.Header().Values("Content-Encoding"), tc.reason)
				assert.Less(t, w.Body.Len(), len(plain)/3)
				r, err := gzip.NewReader(w.Body)
				require.NoError(t, err)
				got, err := io.ReadAll(r)
				require.NoError(t, err)
				assert.Equal(t, plain, string(got), tc.reason)
			}
		})
	}
}

func TestScrape_ThatFailsIsNotCompressed(t *testing.T) {
	ep, err := prom.New(prom.Options{Timeout: 1})
	require.NoError(t, err)
	w := encoded(t, ep, "gzip")
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Empty(t, w.Header().Values("Content-Encoding"))
	assert.Contains(t, w.Body.String(), "metrics/prom: collect: ")
}
