// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/catalog"
)

// instruments are the handles of the catalogue's rows. Durations are
// synchronous histograms. One callback observes all other instruments. So they
// cost a reconcile an atomic addition instead of a measurement, and a series
// can end.
type instruments struct {
	reconcileDuration   metric.Float64Histogram
	queueWait           metric.Float64Histogram
	runDuration         metric.Float64Histogram
	statusWriteDuration metric.Float64Histogram
	requestDuration     metric.Float64Histogram
	limiterWait         metric.Float64Histogram

	reconciles   metric.Int64ObservableCounter
	queueAdds    metric.Int64ObservableCounter
	queueRetries metric.Int64ObservableCounter
	runs         metric.Int64ObservableCounter
	missingJobs  metric.Int64ObservableCounter
	events       metric.Int64ObservableCounter
	statusWrites metric.Int64ObservableCounter
	requests     metric.Int64ObservableCounter
	overflows    metric.Int64ObservableCounter

	reconcileActive metric.Int64ObservableUpDownCounter
	workerLimit     metric.Int64ObservableUpDownCounter
	queueDepth      metric.Int64ObservableUpDownCounter
	queueDelayed    metric.Int64ObservableUpDownCounter
	queueFailing    metric.Int64ObservableUpDownCounter
	runActive       metric.Int64ObservableUpDownCounter

	objects metric.Int64ObservableGauge
	leader  metric.Int64ObservableGauge

	queueOldest         metric.Float64ObservableGauge
	queueUnfinished     metric.Float64ObservableGauge
	queueLongest        metric.Float64ObservableGauge
	queueLongestFailing metric.Float64ObservableGauge
	cacheAge            metric.Float64ObservableGauge
	jobTTL              metric.Float64ObservableGauge
	runRetention        metric.Float64ObservableGauge
	logRetention        metric.Float64ObservableGauge
}

// enabler is implemented by the SDK's instruments. The interfaces of package
// metric have the method since v1.40.
type enabler interface {
	Enabled(ctx context.Context) bool
}

// record adds one measurement of a duration, unless the instrument is disabled.
// The SDK would sort the attributes before it drops the measurement.
func record(
	ctx context.Context,
	h metric.Float64Histogram,
	d time.Duration,
	options []metric.RecordOption,
) {
	e, ok := h.(enabler)
	if ok && !e.Enabled(ctx) {
		return
	}
	h.Record(ctx, max(0, d).Seconds(), options...)
}

// builder creates instruments. It collects the errors and the instruments that
// the callback observes.
type builder struct {
	meter    metric.Meter
	observed []metric.Observable
	errs     []error
}

func (b *builder) build(t catalog.Table) instruments {
	return instruments{
		reconcileDuration:   b.histogram(t.ReconcileDuration),
		queueWait:           b.histogram(t.QueueWait),
		runDuration:         b.histogram(t.RunDuration),
		statusWriteDuration: b.histogram(t.StatusWriteDuration),
		requestDuration:     b.histogram(t.ClientRequestDuration),
		limiterWait:         b.histogram(t.ClientLimiterWait),

		reconciles:   b.counter(t.Reconciles),
		queueAdds:    b.counter(t.QueueAdds),
		queueRetries: b.counter(t.QueueRetries),
		runs:         b.counter(t.Runs),
		missingJobs:  b.counter(t.MissingJobs),
		events:       b.counter(t.Events),
		statusWrites: b.counter(t.StatusWrites),
		requests:     b.counter(t.ClientRequests),
		overflows:    b.counter(t.LabelOverflows),

		reconcileActive: b.upDown(t.ReconcileActive),
		workerLimit:     b.upDown(t.WorkerLimit),
		queueDepth:      b.upDown(t.QueueDepth),
		queueDelayed:    b.upDown(t.QueueDelayed),
		queueFailing:    b.upDown(t.QueueFailing),
		runActive:       b.upDown(t.RunActive),

		objects: b.gauge(t.Objects),
		leader:  b.gauge(t.Leader),

		queueOldest:         b.seconds(t.QueueOldest),
		queueUnfinished:     b.seconds(t.QueueUnfinished),
		queueLongest:        b.seconds(t.QueueLongest),
		queueLongestFailing: b.seconds(t.QueueLongestFailing),
		cacheAge:            b.seconds(t.CacheAge),
		jobTTL:              b.seconds(t.JobTTL),
		runRetention:        b.seconds(t.RunRetention),
		logRetention:        b.seconds(t.LogRetention),
	}
}

func (b *builder) err() error { return errors.Join(b.errs...) }

func (b *builder) histogram(i catalog.Instrument) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Description),
		metric.WithExplicitBucketBoundaries(i.Buckets...))
	b.errs = append(b.errs, err)
	return h
}

func (b *builder) counter(i catalog.Instrument) metric.Int64ObservableCounter {
	c, err := b.meter.Int64ObservableCounter(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Description))
	b.keep(c, err)
	return c
}

func (b *builder) upDown(i catalog.Instrument) metric.Int64ObservableUpDownCounter {
	c, err := b.meter.Int64ObservableUpDownCounter(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Description))
	b.keep(c, err)
	return c
}

func (b *builder) gauge(i catalog.Instrument) metric.Int64ObservableGauge {
	g, err := b.meter.Int64ObservableGauge(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Description))
	b.keep(g, err)
	return g
}

func (b *builder) seconds(i catalog.Instrument) metric.Float64ObservableGauge {
	g, err := b.meter.Float64ObservableGauge(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Description))
	b.keep(g, err)
	return g
}

// keep notes an instrument for the callback, and the error of its creation.
func (b *builder) keep(o metric.Observable, err error) {
	b.observed = append(b.observed, o)
	b.errs = append(b.errs, err)
}
