// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isnil"
	"github.com/proompteng/controllerkit/metrics/catalog"
)

// scope is the name of the meter.
const scope = "github.com/proompteng/controllerkit"

// Metrics is one set of instruments on one meter provider. Make it with New.
// Its methods are safe for concurrent use, and a nil *Metrics records nothing.
// The zero Metrics cannot be used. Use one set per provider: two sets on one
// provider share their series, where counts add up and gauges overwrite each
// other.
type Metrics struct {
	inst         instruments
	slots        slots
	epoch        time.Time
	registration metric.Registration

	limit       int        // of controller names, "other" not counted
	mu          sync.Mutex // guards named, rest and admitted, and the writers of leases and requests
	named       map[string]*Controller
	rest        *Controller      // "other", made when it is needed
	controllers set[*Controller] // named and rest

	leases    set[*lease]
	caches    set[*cacheSource]
	objects   set[*objectSource]
	admitted  map[objectKey]struct{} // of controller.objects, for good
	requests  atomic.Pointer[map[Request][]metric.RecordOption]
	codes     *counts // of requests
	overflows *counts // of labels
}

// New creates the instruments of the catalogue on mp and registers the one
// callback that observes them. It starts nothing and touches no global. The
// error wraps [ErrNoProvider] if mp is nil or a nil pointer, or if it gives no
// meter, such as a prom.Endpoint that was not made by prom.New. The error wraps
// [ErrOption] if an option cannot be used. New also returns the provider's
// errors.
func New(mp metric.MeterProvider, o Options) (*Metrics, error) {
	if isnil.Is(mp) {
		return nil, fmt.Errorf("%w: it is nil; pass a prom.Endpoint made by prom.New, "+
			"or a MeterProvider of OpenTelemetry's SDK", ErrNoProvider)
	}
	err := o.check()
	if err != nil {
		return nil, err
	}
	meter := mp.Meter(scope)
	if isnil.Is(meter) {
		return nil, fmt.Errorf("%w: %T gives no meter; make it with its constructor", ErrNoProvider, mp)
	}
	b := builder{meter: meter}
	m := &Metrics{
		inst:      b.build(catalog.Instruments()),
		epoch:     time.Now(),
		limit:     o.MaxControllers,
		named:     map[string]*Controller{},
		admitted:  map[objectKey]struct{}{},
		codes:     newWords("code", codeWords()),
		overflows: newWords("label", boundedLabels()),
	}
	m.requests.Store(&map[Request][]metric.RecordOption{})
	if m.limit == 0 {
		m.limit = defaultControllers
	}
	if err := b.err(); err != nil {
		return nil, fmt.Errorf("metrics: create instruments: %w", err)
	}
	m.registration, err = b.meter.RegisterCallback(m.observe, b.observed...)
	if err != nil {
		return nil, fmt.Errorf("metrics: register the callback: %w", err)
	}
	return m, nil
}

// Close unregisters the callback. Counts and states disappear from the next
// scrape. Histograms stay until the provider shuts down, because OpenTelemetry
// cannot remove them yet. Recorders may still be used. A second Close does
// nothing.
func (m *Metrics) Close() error {
	if m == nil {
		return nil
	}
	if err := m.registration.Unregister(); err != nil {
		return fmt.Errorf("metrics: unregister the callback: %w", err)
	}
	return nil
}
