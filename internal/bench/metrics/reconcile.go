// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

const agentrun = "agentrun"

// reconcile wraps one reconcile, as a user writes it.
func reconcile(ctx context.Context, c *metrics.Controller) {
	var result metrics.Result
	defer c.Begin().End(ctx, &result)
	result = metrics.Success
}

// controller is our recorder on a provider.
func controller(p metric.MeterProvider) (*metrics.Controller, error) {
	m, err := metrics.New(p, metrics.Options{})
	return m.Controller(agentrun), err
}

// times is a subject whose job cannot fail.
func times(name string, f func()) bench.Subject {
	return bench.Subject{Name: name, Do: func(n int) error {
		for range n {
			f()
		}
		return nil
	}}
}

// reconciles measure the cost of one reconcile that succeeds. All count it by
// result, count it as running, and record its duration.
func reconciles(ctx context.Context, theirs vectors) ([]bench.Measure, error) {
	endpoint, err := prom.New(prom.Options{})
	if err != nil {
		return nil, err
	}
	ours, err := controller(endpoint)
	if err != nil {
		return nil, err
	}
	careful, err := newDirect(endpoint, agentrun)
	if err != nil {
		return nil, err
	}
	tracing, err := prom.New(prom.Options{Exemplars: true})
	if err != nil {
		return nil, err
	}
	traced, err := controller(tracing)
	if err != nil {
		return nil, err
	}
	unread, err := controller(sdkmetric.NewMeterProvider())
	if err != nil {
		return nil, err
	}
	c := newChild(agentrun)
	span := trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8},
		SpanID:     trace.SpanID{1, 2, 3, 4},
		TraceFlags: trace.FlagsSampled,
	}))
	none := bench.Gate{Unit: bench.Allocs, Limit: "= 0"}
	plain := func(clock watch) []bench.Subject {
		return []bench.Subject{
			times(ctrlRuntime, func() { theirs.reconcile(agentrun, clock) }),
			times(children, func() { c.reconcile(clock) }),
			times(otelSync, func() { careful.reconcile(ctx, clock) }),
			times(otelNaive, func() { careful.naive(ctx, agentrun, clock) }),
		}
	}
	return []bench.Measure{
		{Name: "reconcile", Ours: reconciling(ctx, ours), Peers: plain(running), Gates: []bench.Gate{none}},
		{
			Name: "reconcile, less the clock", Ours: timeless(reconciling(ctx, ours)), Peers: plain(stopped),
			Gates: []bench.Gate{
				{Unit: bench.Nanos, Peer: ctrlRuntime, Limit: "<= 0.85x"},
				{Unit: bench.Nanos, Peer: otelSync, Limit: "<= 0.45x"},
				{Unit: bench.Nanos, Peer: otelNaive, Limit: "<= 0.15x"},
			},
		},
		{
			// controller-runtime has no exemplars. client_golang makes their
			// labels each time.
			Name:  "reconcile with exemplar, less the clock",
			Ours:  timeless(reconciling(span, traced)),
			Peers: []bench.Subject{plain(stopped)[0], times(children, func() { c.traced(span, stopped) })},
			Gates: []bench.Gate{
				none,
				{Unit: bench.Nanos, Peer: ctrlRuntime, Limit: "<= 1.2x"},
				{Unit: bench.Nanos, Peer: children, Limit: "<= 0.5x"},
			},
		},
		{
			// What it costs a user who has a provider but exports nothing.
			Name:  "reconcile without reader, less the clock",
			Ours:  timeless(reconciling(ctx, unread)),
			Peers: plain(stopped)[:1],
			Gates: []bench.Gate{none, {Unit: bench.Nanos, Peer: ctrlRuntime, Limit: "<= 0.5x"}},
		},
	}, nil
}

func reconciling(ctx context.Context, c *metrics.Controller) bench.Subject {
	return times("", func() { reconcile(ctx, c) })
}

// timeless is the library without its two readings of the clock, which cannot
// be left out.
func timeless(s bench.Subject) bench.Subject {
	epoch := time.Now()
	var took time.Duration
	s.Less = times("", func() {
		began := time.Since(epoch)
		took += time.Since(epoch) - began
	}).Do
	return s
}
