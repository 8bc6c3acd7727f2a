// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// scope is the name of the meter.
const scope = "github.com/proompteng/controllerkit"

// Metrics is one set of instruments on one meter provider. Its methods are safe for concurrent use, and a nil *Metrics
// records nothing. Use one set per provider: two sets on one provider share their series, where counts add up and
// gauges overwrite each other.
type Metrics struct {
	inst         instruments
	buckets      bucketCounts
	slots        slots
	epoch        time.Time
	registration metric.Registration

	limit       int        // of controller names, "other" not counted
	mu          sync.Mutex // guards named, rest and admitted, and the writers of leases and requests
	named       map[string]*Controller
	rest        *Controller      // "other", made when it is needed
	controllers set[*Controller] // named and rest

	leases    set[*lease]
	objects   set[*objectSource]
	admitted  map[objectKey]struct{} // of controller.objects, for good
	requests  atomic.Pointer[map[Request][]metric.RecordOption]
	overflows [overflowCount]overflow
}

// New creates the instruments of the catalogue on mp and registers the one callback that observes them. It starts
// nothing and touches no global. A nil mp, also a nil pointer in it, is [ErrNoProvider], and so is one that gives no
// meter, such as a prom.Endpoint that was not made by prom.New; an option that cannot be used is an error that wraps
// [ErrOption]; what the provider refuses is returned too.
func New(mp metric.MeterProvider, o Options) (*Metrics, error) {
	if absent(mp) {
		return nil, ErrNoProvider
	}
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	meter := mp.Meter(scope)
	if absent(meter) {
		return nil, fmt.Errorf("%w: %T gives no meter; make it with its constructor", ErrNoProvider, mp)
	}
	b := builder{meter: meter}
	m := &Metrics{
		inst: b.build(t), buckets: countBuckets(t), epoch: time.Now(),
		limit: o.MaxControllers, named: map[string]*Controller{}, admitted: map[objectKey]struct{}{},
	}
	if m.limit == 0 {
		m.limit = defaultControllers
	}
	m.labelOverflows()
	if err := b.err(); err != nil {
		return nil, fmt.Errorf("metrics: create instruments: %w", err)
	}
	if m.registration, err = b.meter.RegisterCallback(m.observe, b.observed...); err != nil {
		return nil, fmt.Errorf("metrics: register the callback: %w", err)
	}
	return m, nil
}

// Close unregisters the callback: counts and states disappear from the next scrape, histograms stay until the provider
// shuts down, since OpenTelemetry cannot remove them yet. Recorders may still be used. A second Close does nothing.
func (m *Metrics) Close() error {
	if m == nil {
		return nil
	}
	if err := m.registration.Unregister(); err != nil {
		return fmt.Errorf("metrics: unregister the callback: %w", err)
	}
	return nil
}
