// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics"
)

// newSet is a set of instruments on a new provider of OpenTelemetry's SDK.
func newSet(tb testing.TB, o metrics.Options) (*metrics.Metrics, *sdkmetric.ManualReader) {
	tb.Helper()
	reader := sdkmetric.NewManualReader()
	m, err := metrics.New(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), o)
	require.NoError(tb, err)
	return m, reader
}

// collect returns the series of a collection, each as name{label="value"}. A
// histogram has its number of records and, with the suffix _sum, their sum.
func collect(tb testing.TB, reader *sdkmetric.ManualReader) map[string]float64 {
	tb.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(tb, reader.Collect(context.Background(), &all))
	return seriesOf(all)
}

func seriesOf(all metricdata.ResourceMetrics) map[string]float64 {
	series := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(series, m.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				add(series, m.Name, data.DataPoints)
			case metricdata.Gauge[float64]:
				add(series, m.Name, data.DataPoints)
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					series[m.Name+labels(p.Attributes)] = float64(p.Count)
					series[m.Name+"_sum"+labels(p.Attributes)] = p.Sum
				}
			}
		}
	}
	return series
}

func add[N int64 | float64](series map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		series[name+labels(p.Attributes)] = float64(p.Value)
	}
}

func labels(set attribute.Set) string {
	var pairs []string
	for _, kv := range set.ToSlice() {
		pairs = append(pairs, string(kv.Key)+`="`+fmt.Sprint(kv.Value.AsInterface())+`"`)
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// with returns the series that contain all of parts.
func with(series map[string]float64, parts ...string) map[string]float64 {
	found := maps.Clone(series)
	maps.DeleteFunc(found, func(name string, _ float64) bool {
		for _, p := range parts {
			if !strings.Contains(name, p) {
				return true
			}
		}
		return false
	})
	return found
}

// notZero returns the series that are not zero.
func notZero(series map[string]float64) map[string]float64 {
	found := maps.Clone(series)
	maps.DeleteFunc(found, func(_ string, v float64) bool { return v == 0 })
	return found
}

// reconcile is a reconcile as a user writes it.
func reconcile(ctx context.Context, c *metrics.Controller, key any, after time.Duration, failure error) (err error) {
	_, done := c.Begin(ctx, key)
	defer done(&err, &after)
	return failure
}

// counted yields fixed counts.
func counted(counts map[metrics.Condition]int64) func(context.Context) iter.Seq2[metrics.Condition, int64] {
	return func(context.Context) iter.Seq2[metrics.Condition, int64] { return maps.All(counts) }
}

// exercise uses every recorder once, with numbers that differ.
func exercise(tb testing.TB, m *metrics.Metrics) {
	tb.Helper()
	ctx := context.Background()
	c := m.Controller("agentrun")
	require.NoError(tb, reconcile(ctx, c, "a", time.Minute, nil))
	c.Begin(ctx, "b")
	c.SetWorkers(4)
	require.NoError(tb, c.ObserveQueue(func() metrics.QueueState {
		return metrics.QueueState{Depth: 3, Unfinished: 4 * time.Second, Longest: 1500 * time.Millisecond}
	}))
	c.QueueAdd()
	c.QueueRetry()
	c.QueueWait(20 * time.Millisecond)
	c.Runs().End(ctx, 7*time.Minute, metrics.Timeout)
	c.Runs().Active(2)
	c.Runs().JobMissing()
	c.Runs().Retention(10*time.Minute, 30*24*time.Hour, 7*24*time.Hour)
	c.Events()("emitted", 6)
	c.StatusWrites()("written", 30*time.Millisecond)
	m.ObserveConditions("AgentRun", counted(map[metrics.Condition]int64{{Type: "Ready", Status: "True"}: 12}))
	lease, err := m.Lease("agents")
	require.NoError(tb, err)
	lease.Set(true)
	m.ObserveCache("pods", func() time.Duration { return 45 * time.Second })
	m.ClientRequest(ctx, metrics.Request{Verb: "patch", Group: "batch", Resource: "jobs/status", Code: "2xx"}, 12*time.Millisecond)
}

func keysOf(set attribute.Set) (keys []string) {
	for _, kv := range set.ToSlice() {
		keys = append(keys, string(kv.Key))
	}
	return keys
}
