// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/proompteng/controllerkit/examples/agentrun/controller"
	"github.com/proompteng/controllerkit/metrics"
)

// releaseHolds runs the program with --release-holds.
func releaseHolds(ctx context.Context, o options, stdout io.Writer) error {
	config, _, err := o.config()
	if err != nil {
		return usageError{err}
	}
	m, err := metrics.New(noop.NewMeterProvider(), metrics.Options{})
	if err != nil {
		return err
	}
	c, err := controller.New(config, m, o.controller) //nolint:contextcheck // a queue has no context
	if err != nil {
		return err
	}
	released, err := c.ReleaseHolds(ctx)
	fmt.Fprintf(stdout, "released %d Jobs\n", released)
	return err
}

// observeHolds creates gauges of the Jobs that --hold-jobs holds. Look at a
// hold that is older than the longest run.
func observeHolds(
	ctx context.Context, provider metric.MeterProvider,
) (func(namespace string, held int, oldest time.Duration), error) {
	meter := provider.Meter("github.com/proompteng/controllerkit/examples/agentrun")
	jobs, err := meter.Int64Gauge("agentrun.jobs.held",
		metric.WithUnit("{job}"),
		metric.WithDescription("Jobs that carry the finalizer of --hold-jobs."))
	if err != nil {
		return nil, err
	}
	age, err := meter.Float64Gauge("agentrun.jobs.held.oldest",
		metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest Job that carries the finalizer of --hold-jobs."))
	if err != nil {
		return nil, err
	}
	return func(namespace string, held int, oldest time.Duration) {
		in := metric.WithAttributes(attribute.String("k8s.namespace.name", namespace))
		jobs.Record(ctx, int64(held), in)
		age.Record(ctx, oldest.Seconds(), in)
	}, nil
}
