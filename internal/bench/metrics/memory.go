// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics/prom"
)

// many is how many histograms are made to see what one keeps.
const many = 5000

// kept measures the memory of one histogram with one set of labels: with twelve
// bounds, and with the bounds of the library's histogram of reconciles.
func kept(ctx context.Context) []bench.Measure {
	measure := func(name, limit string, exemplars bool, bounds []float64) bench.Measure {
		ours := func() (float64, error) { return histograms(onEndpoint(ctx, exemplars, bounds)) }
		theirs := func() (float64, error) { return histograms(onRegistry(bounds)) }
		m := bench.Measure{
			Name:   name,
			Unit:   "B",
			Rounds: 3,
			Ours:   bench.Subject{Count: ours},
			Peers:  []bench.Subject{{Name: children, Count: theirs}},
		}
		if limit != "" {
			m.Gates = []bench.Gate{{Unit: "B", Peer: children, Limit: limit}}
		}
		return m
	}
	twelve := prometheus.ExponentialBuckets(0.001, 2, 12)
	return []bench.Measure{
		measure("memory of a histogram", "<= 0.6x", false, twelve),
		measure("memory of a histogram with exemplars", "<= 2.3x", true, twelve),
		measure("memory of the histogram of reconciles", "", false, bounds()),
		measure("memory of the histogram of reconciles with exemplars", "", true, bounds()),
	}
}

// recorder records one observation under a name; keep holds the objects that
// must stay alive.
type recorder struct {
	record func(name string)
	keep   any
	err    error
}

func onRegistry(bounds []float64) recorder {
	h := prometheus.HistogramOpts{Name: "h", Buckets: bounds}
	v := prometheus.NewHistogramVec(h, []string{"controller", "result"})
	return recorder{record: func(name string) { v.WithLabelValues(name, "success").Observe(0.1) }, keep: v}
}

// onEndpoint records on our endpoint's provider, as package metrics does.
func onEndpoint(ctx context.Context, exemplars bool, bounds []float64) recorder {
	endpoint, err := prom.New(prom.Options{CardinalityLimit: -1, Exemplars: exemplars})
	if err != nil {
		return recorder{err: err}
	}
	h, err := endpoint.Meter("memory").Float64Histogram("h", metric.WithExplicitBucketBoundaries(bounds...))
	if exemplars {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
		}))
	}
	return recorder{keep: endpoint, err: err, record: func(name string) {
		h.Record(ctx, 0.1, metric.WithAttributes(
			attribute.String("controller", name),
			attribute.String("result", "success")))
	}}
}

// histograms is what each of many histograms adds to the heap.
func histograms(r recorder) (float64, error) {
	if r.err != nil {
		return 0, r.err
	}
	names := make([]string, many)
	for i := range names {
		names[i] = "controller-" + strconv.Itoa(i)
	}
	before := bench.Heap()
	for _, name := range names {
		r.record(name)
	}
	after := bench.Heap()
	runtime.KeepAlive(r)
	return (float64(after) - float64(before)) / many, nil
}
