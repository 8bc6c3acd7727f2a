// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"

	"github.com/proompteng/controllerkit/metrics"
)

// BenchmarkReconcile is one reconcile with the SDK and a reader, including the
// clock.
func BenchmarkReconcile(b *testing.B) {
	m, _ := newSet(b, metrics.Options{})
	c := m.Controller("agentrun")
	b.ReportAllocs()
	for b.Loop() {
		_ = reconcile(b.Context(), c, "ci/run-1", 0, nil)
	}
}
