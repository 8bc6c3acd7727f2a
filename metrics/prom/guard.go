// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// panicError says which callback of the provider panicked. The SDK must not see
// the panic: it would keep half a collection and add it to the next.
type panicError struct {
	callback string
	cause    error
}

func (e *panicError) Error() string { return e.callback + " " + e.cause.Error() }
func (e *panicError) Unwrap() error { return e.cause }

// current is the context key of the callback that a collection runs. The error
// message names it if it does not return.
type current struct{}

// provider guards the callbacks of all meters.
type provider struct{ metric.MeterProvider }

func (p provider) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return meter{p.MeterProvider.Meter(name, opts...), name}
}

type meter struct {
	metric.Meter
	name string
}

// guard runs one callback f, whose code is call.
func (m meter) guard(ctx context.Context, f any, call func() error) (err error) {
	name := func() string {
		where := "nil"
		if code := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); code != nil {
			where = code.Name()
		}
		return fmt.Sprintf("the callback %s of the meter %q", where, m.name)
	}
	if running, ok := ctx.Value(current{}).(*atomic.Pointer[func() string]); ok {
		running.Store(&name)
		defer running.Store(nil)
	}
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{name(), isolate.Panicked(v)}
		}
	}()
	return call()
}

func (m meter) RegisterCallback(f metric.Callback, instruments ...metric.Observable) (metric.Registration, error) {
	return m.Meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		return m.guard(ctx, f, func() error { return f(ctx, o) })
	}, instruments...)
}

func (m meter) Int64ObservableCounter(name string, opts ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return m.Meter.Int64ObservableCounter(name, guardInts(m, opts, func(o metric.Int64ObservableCounterOption) []metric.Int64Callback {
		return metric.NewInt64ObservableCounterConfig(o).Callbacks()
	})...)
}

func (m meter) Int64ObservableUpDownCounter(name string, opts ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return m.Meter.Int64ObservableUpDownCounter(name, guardInts(m, opts, func(o metric.Int64ObservableUpDownCounterOption) []metric.Int64Callback {
		return metric.NewInt64ObservableUpDownCounterConfig(o).Callbacks()
	})...)
}

func (m meter) Int64ObservableGauge(name string, opts ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return m.Meter.Int64ObservableGauge(name, guardInts(m, opts, func(o metric.Int64ObservableGaugeOption) []metric.Int64Callback {
		return metric.NewInt64ObservableGaugeConfig(o).Callbacks()
	})...)
}

func (m meter) Float64ObservableCounter(name string, opts ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	return m.Meter.Float64ObservableCounter(name, guardFloats(m, opts, func(o metric.Float64ObservableCounterOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableCounterConfig(o).Callbacks()
	})...)
}

func (m meter) Float64ObservableUpDownCounter(name string, opts ...metric.Float64ObservableUpDownCounterOption) (metric.Float64ObservableUpDownCounter, error) {
	return m.Meter.Float64ObservableUpDownCounter(name, guardFloats(m, opts, func(o metric.Float64ObservableUpDownCounterOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableUpDownCounterConfig(o).Callbacks()
	})...)
}

func (m meter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return m.Meter.Float64ObservableGauge(name, guardFloats(m, opts, func(o metric.Float64ObservableGaugeOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableGaugeConfig(o).Callbacks()
	})...)
}

// guardInts replaces the options that have a callback. All others stay
// unchanged.
func guardInts[O any](m meter, opts []O, callbacks func(O) []metric.Int64Callback) (all []O) {
	for _, o := range opts {
		found := callbacks(o)
		for _, f := range found {
			var guarded any = metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
				return m.guard(ctx, f, func() error { return f(ctx, o) })
			})
			if own, ok := guarded.(O); ok {
				all = append(all, own)
			}
		}
		if len(found) == 0 {
			all = append(all, o)
		}
	}
	return all
}

// guardFloats is guardInts for floats.
func guardFloats[O any](m meter, opts []O, callbacks func(O) []metric.Float64Callback) (all []O) {
	for _, o := range opts {
		found := callbacks(o)
		for _, f := range found {
			var guarded any = metric.WithFloat64Callback(func(ctx context.Context, o metric.Float64Observer) error {
				return m.guard(ctx, f, func() error { return f(ctx, o) })
			})
			if own, ok := guarded.(O); ok {
				all = append(all, own)
			}
		}
		if len(found) == 0 {
			all = append(all, o)
		}
	}
	return all
}
