// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/proompteng/controllerkit/metrics/kube"
)

func BenchmarkTransport(b *testing.B) {
	m, _ := newSet(b)
	answer := &http.Response{StatusCode: http.StatusOK}
	t := kube.Transport(m)(roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil }))
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPatch, "/apis/batch/v1/namespaces/ci/jobs/run-1/status?fieldManager=x", http.NoBody)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = t.RoundTrip(r) //nolint:bodyclose // there is none
	}
}
