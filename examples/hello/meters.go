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
	collect metric.Callback
}

type fakeCounter struct {
	noop.Int64ObservableCounter
	name string
}

func (*fakeMeter) Int64ObservableCounter(
	name string, _ ...metric.Int64ObservableCounterOption,
) (metric.Int64ObservableCounter, error) {
	return &fakeCounter{name: name}, nil
}

func (f *fakeMeter) RegisterCallback(
	collect metric.Callback, _ ...metric.Observable,
) (metric.Registration, error) {
	f.collect = collect
	return noop.Registration{}, nil
}

// counted reads one counter, by result.
func (f *fakeMeters) counted(ctx context.Context, name string) (string, error) {
	seen := &observer{name: name}
	err := f.meter.collect(ctx, seen)
	slices.Sort(seen.counts)
	return strings.Join(seen.counts, " "), err
}

type observer struct {
	noop.Observer
	name   string
	counts []string
}

func (o *observer) ObserveInt64(of metric.Int64Observable, n int64, options ...metric.ObserveOption) {
	if c, ok := of.(*fakeCounter); ok && c.name == o.name && n > 0 {
		labels := metric.NewObserveConfig(options).Attributes()
		result, _ := labels.Value("result")
		o.counts = append(o.counts, fmt.Sprintf("%s=%d", result.AsString(), n))
	}
}
