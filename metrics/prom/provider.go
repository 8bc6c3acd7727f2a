// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/internal/isolate"
)

// failures is the context key of the function that takes the errors of the
// callbacks of a scrape. Other readers have none.
type failures struct{}

// callback is a function that a library gave to the provider. If it panics,
// fails or does not return, it costs its own metrics. The SDK never sees its
// error, because a periodic reader sends nothing at all after an error.
type callback struct {
	name  string // for errors
	limit time.Duration
	call  isolate.Call[*observations]
	// size is how many values the last call observed. Only call's goroutine
	// uses it.
	size   int
	missed atomic.Pointer[error] // of another reader, for the next scrape
}

// run calls f, or joins a call that still runs. It returns the observations,
// or nil if f panicked or is late. The SDK's lock is held meanwhile.
func (c *callback) run(
	ctx context.Context,
	f func(context.Context, *observations) error,
) *observations {
	limited, cancel := context.WithTimeout(ctx, c.share(ctx))
	defer cancel()
	seen, err := c.call.Start(func() (*observations, error) {
		o := newObservations(c.size)
		err := f(context.WithValue(limited, failures{}, nil), o)
		c.size = o.len()
		return o, err
	}).Wait(limited)
	if err != nil {
		err = fmt.Errorf("metrics/prom: collect: %s: %w", c.name, err)
	}
	c.report(ctx, err)
	return seen
}

// share is most of the time that the collection has left. The rest is for
// the callbacks that follow and for the answer.
func (c *callback) share(ctx context.Context) time.Duration {
	left := c.limit
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return left / 5 * 4
}

// report passes the error to the scrape. OnError is not called here, because
// the SDK's lock is held.
func (c *callback) report(ctx context.Context, err error) {
	fail, ok := ctx.Value(failures{}).(func(error))
	if !ok {
		if err != nil {
			c.missed.Store(&err)
		}
		return
	}
	missed := c.missed.Swap(nil)
	if err == nil && missed != nil {
		err = *missed
	}
	if err != nil {
		fail(err)
	}
}

// provider guards the callbacks of all meters.
type provider struct {
	metric.MeterProvider
	limit time.Duration // of a callback, where the collection has no deadline
}

func (p provider) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return meter{p.MeterProvider.Meter(name, opts...), name, p.limit}
}

type meter struct {
	metric.Meter
	name  string
	limit time.Duration
}

// guarded is the callback of f. The instrument is empty if f has several.
func (m meter) guarded(f any, instrument string) *callback {
	code := "nil"
	known := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	if known != nil {
		code = known.Name()
	}
	name := "the callback " + code
	if instrument != "" {
		name += fmt.Sprintf(" of the instrument %q", instrument)
	}
	return &callback{name: name + fmt.Sprintf(" of the meter %q", m.name), limit: m.limit}
}

func (m meter) RegisterCallback(
	f metric.Callback,
	instruments ...metric.Observable,
) (metric.Registration, error) {
	c := m.guarded(f, "")
	guarded := func(ctx context.Context, o metric.Observer) error {
		seen := c.run(ctx, func(ctx context.Context, seen *observations) error {
			return f(ctx, observer{observations: seen})
		})
		seen.replay(o)
		return nil
	}
	return m.Meter.RegisterCallback(guarded, instruments...)
}

func (m meter) Int64ObservableCounter(
	name string,
	opts ...metric.Int64ObservableCounterOption,
) (metric.Int64ObservableCounter, error) {
	callbacks := func(o metric.Int64ObservableCounterOption) []metric.Int64Callback {
		return metric.NewInt64ObservableCounterConfig(o).Callbacks()
	}
	return m.Meter.Int64ObservableCounter(name, guardInts(m, name, opts, callbacks)...)
}

func (m meter) Int64ObservableUpDownCounter(
	name string,
	opts ...metric.Int64ObservableUpDownCounterOption,
) (metric.Int64ObservableUpDownCounter, error) {
	callbacks := func(o metric.Int64ObservableUpDownCounterOption) []metric.Int64Callback {
		return metric.NewInt64ObservableUpDownCounterConfig(o).Callbacks()
	}
	return m.Meter.Int64ObservableUpDownCounter(name, guardInts(m, name, opts, callbacks)...)
}

func (m meter) Int64ObservableGauge(
	name string,
	opts ...metric.Int64ObservableGaugeOption,
) (metric.Int64ObservableGauge, error) {
	callbacks := func(o metric.Int64ObservableGaugeOption) []metric.Int64Callback {
		return metric.NewInt64ObservableGaugeConfig(o).Callbacks()
	}
	return m.Meter.Int64ObservableGauge(name, guardInts(m, name, opts, callbacks)...)
}

func (m meter) Float64ObservableCounter(
	name string,
	opts ...metric.Float64ObservableCounterOption,
) (metric.Float64ObservableCounter, error) {
	callbacks := func(o metric.Float64ObservableCounterOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableCounterConfig(o).Callbacks()
	}
	return m.Meter.Float64ObservableCounter(name, guardFloats(m, name, opts, callbacks)...)
}

func (m meter) Float64ObservableUpDownCounter(
	name string,
	opts ...metric.Float64ObservableUpDownCounterOption,
) (metric.Float64ObservableUpDownCounter, error) {
	callbacks := func(o metric.Float64ObservableUpDownCounterOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableUpDownCounterConfig(o).Callbacks()
	}
	return m.Meter.Float64ObservableUpDownCounter(name, guardFloats(m, name, opts, callbacks)...)
}

func (m meter) Float64ObservableGauge(
	name string,
	opts ...metric.Float64ObservableGaugeOption,
) (metric.Float64ObservableGauge, error) {
	callbacks := func(o metric.Float64ObservableGaugeOption) []metric.Float64Callback {
		return metric.NewFloat64ObservableGaugeConfig(o).Callbacks()
	}
	return m.Meter.Float64ObservableGauge(name, guardFloats(m, name, opts, callbacks)...)
}

// guardInts replaces the options that have a callback. All others stay
// unchanged.
func guardInts[O any](
	m meter,
	name string,
	opts []O,
	callbacks func(O) []metric.Int64Callback,
) (all []O) {
	for _, o := range opts {
		found := callbacks(o)
		for _, f := range found {
			c := m.guarded(f, name)
			guarded := func(ctx context.Context, o metric.Int64Observer) error {
				seen := c.run(ctx, func(ctx context.Context, seen *observations) error {
					return f(ctx, int64Observer{observations: seen})
				})
				seen.replayInt64(o)
				return nil
			}
			var option any = metric.WithInt64Callback(guarded)
			if own, ok := option.(O); ok {
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
func guardFloats[O any](
	m meter,
	name string,
	opts []O,
	callbacks func(O) []metric.Float64Callback,
) (all []O) {
	for _, o := range opts {
		found := callbacks(o)
		for _, f := range found {
			c := m.guarded(f, name)
			guarded := func(ctx context.Context, o metric.Float64Observer) error {
				seen := c.run(ctx, func(ctx context.Context, seen *observations) error {
					return f(ctx, float64Observer{observations: seen})
				})
				seen.replayFloat64(o)
				return nil
			}
			var option any = metric.WithFloat64Callback(guarded)
			if own, ok := option.(O); ok {
				all = append(all, own)
			}
		}
		if len(found) == 0 {
			all = append(all, o)
		}
	}
	return all
}
