// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/jobgc/settings"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

//req:shows J1
func TestGaugesShowTheRetentionThatIsInForce(t *testing.T) {
	tests := map[string]struct {
		reason, set string
		want        string
	}{
		"Default": {"What FromEnv says of it.", "", "600"},
		"Set":     {"The setting is shown.", "5m", "300"},
		"Longest": {"In seconds.", "168h", "604800"},
		"Kept":    {"0 is for good.", "0", "0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			retention, err := settings.FromEnv(func(name string) (string, bool) {
				return tc.set, name == "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"
			}, settings.JangarNames())
			require.NoError(t, err)
			endpoint, err := prom.New(prom.Options{})
			require.NoError(t, err)
			m, err := metrics.New(endpoint, metrics.Options{})
			require.NoError(t, err)
			_, err = New(&rest.Config{Host: "http://127.0.0.1", Transport: nobody{}}, m, Options{Retention: retention})
			require.NoError(t, err)
			page := httptest.NewRecorder()
			endpoint.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			for series, want := range map[string]string{"job_ttl": tc.want, "run_retention": "2.592e+06", "log_retention": "604800"} {
				assert.Contains(t, page.Body.String(), "\ncontroller_"+series+`_seconds{controller="agentrun"} `+want+"\n", tc.reason)
			}
		})
	}
}
