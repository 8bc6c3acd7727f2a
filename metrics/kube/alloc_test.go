// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package kube_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/metrics/kube"
)

func TestQueueDoesNotAllocate(t *testing.T) {
	m, _ := newSet(t)
	q := kube.NewQueue[int](m.Controller("c"), nil)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		q.Add(1)
		item, _ := q.Get()
		q.Done(item)
	}))
}

// The name of a subresource costs one allocation. Without one there is none.
func TestTransportHardlyAllocates(t *testing.T) {
	m, _ := newSet(t)
	next := roundTripper(func(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed })
	for path, most := range map[string]float64{"/api/v1/namespaces/ci/pods/a?watch=true": 0, "/api/v1/namespaces/ci/pods/a/status": 1} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		wrapped := kube.Transport(m)(next)
		assert.InDelta(t, most, testing.AllocsPerRun(1000, func() {
			_, _ = wrapped.RoundTrip(r) //nolint:bodyclose // there is none
		}), 0, path)
	}
}
