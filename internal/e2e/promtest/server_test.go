// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/e2e/promtest"
)

func TestAServerScrapesAndAnswers(t *testing.T) {
	exposition := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "# TYPE heat gauge\nheat{room=\"kitchen\"} 21.5")
	}))
	defer exposition.Close()
	dir := t.TempDir()
	s, err := promtest.Start(t.Context(), dir, promtest.Job{Name: "house", URL: exposition.URL + "/metrics", Labels: map[string]string{"namespace": "home"}})
	require.NoError(t, err)

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := s.Query(t.Context(), `sum by (room, job, namespace) (heat)`)
		require.NoError(c, err)
		require.Len(c, got, 1)
		assert.Equal(c, model.Metric{"room": "kitchen", "job": "house", "namespace": "home"}, got[0].Metric)
		assert.InDelta(c, 21.5, float64(got[0].Value), 0)
	}, time.Minute, 200*time.Millisecond)

	got, err := s.Query(t.Context(), "1/0")
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.True(t, math.IsInf(float64(got[0].Value), 1), "a scalar that is not finite is reported")
	got, err = s.Query(t.Context(), "cold")
	require.NoError(t, err)
	assert.Empty(t, got)
	_, err = s.Query(t.Context(), "sum(")
	require.ErrorContains(t, err, "parse error")
	_, err = s.Query(t.Context(), "heat[1m]")
	require.ErrorContains(t, err, "the answer is a matrix")

	require.NoError(t, s.Stop())
	_, err = s.Query(t.Context(), "1")
	require.ErrorContains(t, err, "connection refused")
}

func TestAWrongConfigurationIsTold(t *testing.T) {
	_, err := promtest.Start(t.Context(), t.TempDir(), promtest.Job{Name: "a", URL: "http://127.0.0.1:1/metrics"}, promtest.Job{Name: "a", URL: "http://127.0.0.1:1/metrics"})
	assert.ErrorContains(t, err, "multiple scrape configs with job name")
}
