// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// guarded calls f. A panic becomes an error.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = isolate.Panicked(v)
		}
	}()
	return f()
}

// meter guards the callbacks that a library registers. The SDK never sees their
// errors: the exporter would pass them to OpenTelemetry's global handler, and a
// periodic reader sends nothing at all after one.
type meter struct {
	metric.Meter
	name     string
	failures *failures
}

func (m meter) RegisterCallback(
	f metric.Callback,
	instruments ...metric.Observable,
) (metric.Registration, error) {
	c := &callback{meter: m.name}
	call := func(ctx context.Context, o metric.Observer) error {
		err := guarded(func() error { return f(ctx, o) })
		if err != nil {
			m.failures.set(c, err)
		}
		return nil
	}
	return m.Meter.RegisterCallback(call, instruments...)
}

// callback identifies a registered callback.
type callback struct{ meter string }

// failures are the errors of callbacks since the last scrape. A callback has at
// most one, because Options.Readers may collect where nothing scrapes.
type failures struct {
	mu   sync.Mutex
	errs map[*callback]error
}

func (f *failures) set(c *callback, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.errs == nil {
		f.errs = map[*callback]error{}
	}
	f.errs[c] = fmt.Errorf("a callback of the meter %q: %w", c.meter, err)
}

// take returns the errors and forgets them.
func (f *failures) take() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errors.Join(slices.Collect(maps.Values(f.errs))...)
	clear(f.errs)
	return err
}

// exported is the collector of OpenTelemetry's exporter. The meter does not
// guard a callback that an instrument was created with. Its panic would end the
// process: a registry of client_golang v1.23 collects in separate goroutines.
type exported struct {
	prometheus.Collector
	reader   sdkmetric.Reader
	panicked atomic.Bool
}

// Collect hands out the metrics, or the panic as an error.
func (e *exported) Collect(ch chan<- prometheus.Metric) {
	err := guarded(func() error {
		if e.panicked.Load() {
			// The SDK still has the values that other callbacks observed before
			// the panic, and would add the next ones to them.
			e.discard()
		}
		e.Collector.Collect(ch)
		return nil
	})
	e.panicked.Store(err != nil)
	if err != nil {
		err = fmt.Errorf("the callback of an instrument %w", err)
		ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
}

func (e *exported) discard() {
	ctx := context.Background() //nolint:forbidigo // Prometheus' interfaces pass none
	_ = e.reader.Collect(ctx, new(metricdata.ResourceMetrics))
}
