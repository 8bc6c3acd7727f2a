// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPopulated_ExposesEachController(t *testing.T) {
	for _, of := range []pages{exported, official} {
		h, err := populated(t.Context(), of, 2)
		require.NoError(t, err)
		require.NoError(t, scrape(t.Context(), h))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		assert.Contains(t, w.Body.String(), `controller_reconciles_total{controller="controller-1",result="success"} 1`)
		assert.Contains(t, w.Body.String(), `controller_queue_adds_total{controller="controller-0"} 1`)
		assert.Contains(t, w.Body.String(), "\nprocess_start_time_seconds ")
	}
}
