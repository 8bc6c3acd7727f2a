// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// fakeMeters replaces OpenTelemetry's SDK or metrics/prom. This meter provider
// has only counters.
type fakeMeters struct {
	noop.MeterProvider
	meter fakeMeter
}

func (f *fakeMeters) Meter(string, ...metric.MeterOption) metric.Meter { return &f.meter }

type fakeMeter struct {
	noop.Meter
	counters map[string]*fakeCounter // by name
}

type fakeCounter struct {
	noop.Int64Counter
	results map[string]int64 // by the attribute result
}

func (f *fakeMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if f.counters == nil {
		f.counters = map[string]*fakeCounter{}
	}
	f.counters[name] = &fakeCounter{results: map[string]int64{}}
	return f.counters[name], nil
}

func (c *fakeCounter) Add(_ context.Context, n int64, options ...metric.AddOption) {
	labels := metric.NewAddConfig(options).Attributes()
	result, _ := labels.Value("result")
	c.results[result.AsString()] += n
}

// counted is what a counter has, by result.
func (f *fakeMeters) counted(name string) string {
	var counts []string
	for result, n := range f.meter.counters[name].results {
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%s=%d", result, n))
		}
	}
	slices.Sort(counts)
	return strings.Join(counts, " ")
}
