// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// For any text as a name, the scrape is complete, without an error, and within
// its bound.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"agentrun", "", "other", "\xff\xfe", "a\"b\\c\nd", "é", strings.Repeat("x", 300), "__name__", "{}", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var failed []error
		ep, err := prom.New(prom.Options{OnError: func(err error) { failed = append(failed, err) }})
		require.NoError(t, err)
		m, err := metrics.New(ep, metrics.Options{})
		require.NoError(t, err)
		c := m.Controller(name)
		c.Begin().End(t.Context(), nil)
		c.Events()(name, 1)
		c.StatusWrites()(name, time.Second)
		m.Leader(name, true)
		m.ClientRequest(t.Context(), metrics.Request{Verb: name, Group: name, Resource: name, Code: name}, time.Second)
		m.ObserveConditions(name, func(context.Context) iter.Seq2[metrics.Condition, int64] {
			return func(yield func(metrics.Condition, int64) bool) { yield(metrics.Condition{Type: name, Status: name}, 1) }
		})
		got := body(t, ep)
		assert.Empty(t, failed)
		for _, family := range []string{
			"controller_reconciles_total{", "controller_reconcile_duration_seconds_count{", "controller_objects{",
			"controller_client_request_duration_seconds_count{",
		} {
			assert.Contains(t, got, family)
		}
		assert.LessOrEqual(t, strings.Count(got, "\ncontroller_"), m.MaxSeries(1))
		assert.NotContains(t, got, "otel_metric_overflow")
	})
}
