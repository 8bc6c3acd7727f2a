// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Options of a set of instruments. The zero value starts no spans.
type Options struct {
	// IsTerminal recognizes errors that no retry can fix, such as a refusal of
	// the API server. Pass events.IsTerminal. An error with a method
	// Terminal() bool needs no function. Controller-runtime's TerminalError has
	// none: recognize it by errors.Is(err, reconcile.TerminalError(nil)).
	IsTerminal func(error) bool
	// Tracer starts a span for each reconcile. Nil starts none.
	Tracer trace.Tracer

	_ struct{} // keyed literals only, so that fields can be added
}

// Metrics is one set of instruments on one meter provider, or a scope of it.
// Make it with New. Its methods are safe for concurrent use, and a nil *Metrics
// records nothing. The zero Metrics cannot be used.
type Metrics struct {
	set   *set
	scope string

	// These are guarded by set.mu.
	controllers map[string]*Controller
	leases      map[string]*Lease
	caches      []*cacheSource
	objects     []*objectSource
}

// set is what all scopes share.
type set struct {
	instruments

	isTerminal func(error) bool
	tracer     trace.Tracer // nil: no spans

	mu     sync.Mutex // never held during a call of the SDK or of a caller's function
	scopes map[string]*Metrics
}

// New creates the instruments on mp and registers one callback for the values
// that are read when they are collected, until mp shuts down. It starts nothing
// and touches no global. It is an error if mp is nil or a nil pointer, or if it
// gives no meter, such as a prom.Endpoint that was not made by prom.New. New
// also returns the provider's errors.
//
// Make one set for a provider. A second set is harmless to counters and
// histograms, which add up, but of two gauges with equal labels one is
// exported. For a second cluster use [Metrics.Scope].
func New(mp metric.MeterProvider, o Options) (*Metrics, error) {
	if isnil.Is(mp) {
		return nil, errors.New("metrics: no usable meter provider: it is nil; pass a prom.Endpoint made " +
			"by prom.New, or a MeterProvider of OpenTelemetry's SDK")
	}
	meter := mp.Meter("github.com/proompteng/controllerkit")
	if isnil.Is(meter) {
		return nil, fmt.Errorf("metrics: no usable meter provider: %T gives no meter; make it with its "+
			"constructor", mp)
	}
	b := builder{meter: meter}
	s := &set{
		instruments: b.instruments(),
		isTerminal:  o.IsTerminal,
		scopes:      map[string]*Metrics{},
	}
	if !isnil.Is(o.Tracer) {
		s.tracer = o.Tracer
	}
	err := errors.Join(b.errs...)
	if err != nil {
		return nil, fmt.Errorf("metrics: create instruments: %w", err)
	}
	_, err = meter.RegisterCallback(s.observe, b.observed...)
	if err != nil {
		return nil, fmt.Errorf("metrics: register the callback: %w", err)
	}
	return s.newScope(""), nil
}

// Scope returns a view of the set whose series all have the label scope. Use
// one for each cluster if a process has managers for several: their
// controllers, leases and caches may have equal names.
//
//	east := m.Scope("east")
//	config.Wrap(kube.Transport(east))
//	r := &Reconciler{metrics: east.Controller("agentrun")}
//
// The same name returns the same view. The empty name is the set without the
// label, as New returns it. On a nil Metrics it returns nil.
func (m *Metrics) Scope(name string) *Metrics {
	if m == nil {
		return nil
	}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	known, ok := m.set.scopes[name]
	if ok {
		return known
	}
	return m.set.newScope(name)
}

func (s *set) newScope(name string) *Metrics {
	m := &Metrics{
		set:         s,
		scope:       name,
		controllers: map[string]*Controller{},
		leases:      map[string]*Lease{},
	}
	s.scopes[name] = m
	return m
}

// attributes returns the attributes of one series.
func (m *Metrics) attributes(kv ...attribute.KeyValue) metric.MeasurementOption {
	if m.scope != "" {
		kv = append(kv, label("scope", m.scope))
	}
	return metric.WithAttributeSet(attribute.NewSet(kv...))
}

// label returns an attribute that each exporter accepts.
func label(name, value string) attribute.KeyValue {
	return attribute.String(name, strings.ToValidUTF8(value, "\uFFFD"))
}
