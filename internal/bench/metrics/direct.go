// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// watch takes the duration of a reconcile, as every peer does, or makes one up
// where the clock's price is not to count.
type watch bool

const (
	running watch = true
	stopped watch = false
)

func (w watch) start() (t time.Time) {
	if w == running {
		t = time.Now()
	}
	return t
}

func (w watch) took(began time.Time) float64 {
	if w == running {
		return time.Since(began).Seconds()
	}
	return 1e-7
}

// bounds are the buckets of the library's histogram of reconciles, for the
// peers too.
func bounds() []float64 { return catalog.Instruments().ReconcileDuration.Buckets }

// child are client_golang's metrics of one controller, looked up once: the
// cheapest there is.
type child struct {
	active   prometheus.Gauge
	total    prometheus.Counter
	duration prometheus.Observer
}

func newChild(name string) child {
	byResult := []string{"controller", "result"}
	active := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "active"}, []string{"controller"})
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "total"}, byResult)
	seconds := prometheus.HistogramOpts{Name: "seconds", Buckets: bounds()}
	return child{
		active:   active.WithLabelValues(name),
		total:    total.WithLabelValues(name, "success"),
		duration: prometheus.NewHistogramVec(seconds, byResult).WithLabelValues(name, "success"),
	}
}

func (c child) reconcile(clock watch) {
	c.active.Add(1)
	defer c.active.Add(-1)
	began := clock.start()
	defer func() { c.duration.Observe(clock.took(began)) }()
	c.total.Inc()
}

// traced is reconcile with the exemplar of the span in ctx, as client_golang's
// documentation shows it.
func (c child) traced(ctx context.Context, clock watch) {
	c.active.Add(1)
	defer c.active.Add(-1)
	began := clock.start()
	defer func() {
		took := clock.took(began)
		span := trace.SpanContextFromContext(ctx)
		if o, ok := c.duration.(prometheus.ExemplarObserver); ok && span.IsSampled() {
			o.ObserveWithExemplar(took, prometheus.Labels{
				"trace_id": span.TraceID().String(),
				"span_id":  span.SpanID().String(),
			})
			return
		}
		c.duration.Observe(took)
	}()
	c.total.Inc()
}

// direct are OpenTelemetry's synchronous instruments for the same.
type direct struct {
	active   metric.Int64UpDownCounter
	total    metric.Int64Counter
	duration metric.Float64Histogram

	// Made once, so that a call neither makes an attribute set nor an option,
	// nor a slice of them.
	controller []metric.AddOption
	success    []metric.AddOption
	recorded   []metric.RecordOption
}

func newDirect(p metric.MeterProvider, name string) (*direct, error) {
	m := p.Meter("direct")
	active, err1 := m.Int64UpDownCounter("direct.active")
	total, err2 := m.Int64Counter("direct.total")
	duration, err3 := m.Float64Histogram("direct.duration", metric.WithExplicitBucketBoundaries(bounds()...))
	one := attribute.NewSet(attribute.String("controller", name))
	both := attribute.NewSet(attribute.String("controller", name), attribute.String("result", "success"))
	return &direct{
		active: active, total: total, duration: duration,
		controller: []metric.AddOption{metric.WithAttributeSet(one)},
		success:    []metric.AddOption{metric.WithAttributeSet(both)},
		recorded:   []metric.RecordOption{metric.WithAttributeSet(both)},
	}, errors.Join(err1, err2, err3)
}

// reconcile is the most careful use of the synchronous instruments.
func (d *direct) reconcile(ctx context.Context, clock watch) {
	d.active.Add(ctx, 1, d.controller...)
	defer d.active.Add(ctx, -1, d.controller...)
	began := clock.start()
	defer func() { d.duration.Record(ctx, clock.took(began), d.recorded...) }()
	d.total.Add(ctx, 1, d.success...)
}

// naive is the use that OpenTelemetry's getting-started page shows.
func (d *direct) naive(ctx context.Context, name string, clock watch) {
	d.active.Add(ctx, 1, metric.WithAttributes(attribute.String("controller", name)))
	defer d.active.Add(ctx, -1, metric.WithAttributes(attribute.String("controller", name)))
	began := clock.start()
	defer func() {
		d.duration.Record(ctx, clock.took(began), metric.WithAttributes(
			attribute.String("controller", name),
			attribute.String("result", "success")))
	}()
	d.total.Add(ctx, 1, metric.WithAttributes(
		attribute.String("controller", name),
		attribute.String("result", "success")))
}
