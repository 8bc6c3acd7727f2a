// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// callbacks are the ways to give a provider a function. Each observes 7.
func callbacks() map[string]func(*testing.T, metric.Meter, func()) {
	made := func(t *testing.T, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	ints := func(do func()) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error { o.Observe(7); do(); return nil }
	}
	floats := func(do func()) metric.Float64Callback {
		return func(_ context.Context, o metric.Float64Observer) error { o.Observe(7); do(); return nil }
	}
	return map[string]func(*testing.T, metric.Meter, func()){
		"Registered": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			c, err := m.Int64ObservableCounter("theirs")
			made(t, err)
			_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error { o.ObserveInt64(c, 7); do(); return nil }, c)
			made(t, err)
		},
		"Int64Counter": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Int64ObservableCounter("theirs", metric.WithUnit("{it}"), metric.WithInt64Callback(ints(do)))
			made(t, err)
		},
		"Int64UpDown": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Int64ObservableUpDownCounter("theirs_total", metric.WithInt64Callback(ints(do)))
			made(t, err)
		},
		"Int64Gauge": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Int64ObservableGauge("theirs_total", metric.WithInt64Callback(ints(do)))
			made(t, err)
		},
		"Float64Counter": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Float64ObservableCounter("theirs", metric.WithFloat64Callback(floats(do)))
			made(t, err)
		},
		"Float64UpDown": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Float64ObservableUpDownCounter("theirs_total", metric.WithFloat64Callback(floats(do)))
			made(t, err)
		},
		"Float64Gauge": func(t *testing.T, m metric.Meter, do func()) {
			t.Helper()
			_, err := m.Float64ObservableGauge("theirs_total", metric.WithFloat64Callback(floats(do)))
			made(t, err)
		},
	}
}

// endpointWithBefore has a callback of a healthy library, too.
func endpointWithBefore(t *testing.T, o prom.Options) *prom.Endpoint {
	t.Helper()
	ep := endpoint(t, o, 1)
	before, err := ep.Meter("before").Int64ObservableCounter("before")
	require.NoError(t, err)
	_, err = ep.Meter("before").RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(before, 100)
		return nil
	}, before)
	require.NoError(t, err)
	return ep
}

// culprit is how an error names the callback that was registered under name.
func culprit(name string) []string {
	all := []string{"the callback ", "prom_test.callbacks", `of the meter "of.others"`}
	if name != "Registered" {
		all = append(all, `of the instrument "theirs`)
	}
	return all
}

// A callback that panics costs its own metrics. OnError names it, and the
// counts of the others do not double.
func TestCallback_ThatPanicsCostsItsOwnMetrics(t *testing.T) {
	for name, register := range callbacks() {
		t.Run(name, func(t *testing.T) {
			var r reported
			ep := endpointWithBefore(t, prom.Options{OnError: r.add})
			broken := true
			register(t, ep.Meter("of.others"), func() {
				if broken {
					panic("password=hunter2")
				}
			})
			for n := range 3 {
				w := scrape(t, ep, "")
				assert.Equal(t, http.StatusOK, w.Code)
				assert.Contains(t, w.Body.String(), `a_thing_total{i="0"} 1`)
				assert.Contains(t, w.Body.String(), "\nbefore_total 100\n")
				assert.NotContains(t, w.Body.String(), "theirs")
				require.Len(t, r.errs, n+1, "once for each scrape")
				for _, part := range append(culprit(name), "panicked with a string") {
					require.ErrorContains(t, r.errs[n], part)
				}
				assert.NotContains(t, w.Body.String()+r.errs[n].Error(), "hunter2")
			}
			broken = false
			got := text(t, ep)
			assert.Contains(t, got, "\ntheirs_total 7\n")
			assert.Contains(t, got, "\nbefore_total 100\n", "not four times as much")
			assert.Contains(t, got, `promhttp_metric_handler_errors_total{cause="gathering"} 3`)
		})
	}
}

func TestCallback_ThatHangsCostsItsOwnMetrics(t *testing.T) {
	for name, register := range callbacks() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r reported
				ep := endpointWithBefore(t, prom.Options{OnError: r.add, Timeout: 5 * time.Second})
				release := make(chan struct{})
				register(t, ep.Meter("of.others"), func() { <-release })
				start := time.Now()
				for n := range 3 {
					w := scrape(t, ep, "")
					assert.Equal(t, http.StatusOK, w.Code)
					assert.Contains(t, w.Body.String(), `a_thing_total{i="0"} 1`)
					assert.Contains(t, w.Body.String(), "\nbefore_total 100\n")
					assert.NotContains(t, w.Body.String(), "theirs")
					require.Len(t, r.errs, n+1)
					for _, part := range append(culprit(name), "did not return in time") {
						require.ErrorContains(t, r.errs[n], part)
					}
					_, err := ep.Meter("new").Int64Counter("new")
					require.NoError(t, err, "the SDK's lock is free")
				}
				assert.Equal(t, 4*time.Second, time.Since(start), "the second scrape does not wait for a callback that is known to hang")
				close(release)
				synctest.Wait()
				got := text(t, ep)
				assert.Contains(t, got, "\ntheirs_total 7\n", "what it observed late is not added")
				assert.Len(t, r.errs, 3)
			})
		})
	}
}

// Each of several callbacks that hang gets most of the time that is left.
func TestCallback_ThatHangsLeavesTimeForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reported
		ep := withDefaults(t, prom.Options{OnError: r.add}, 1)
		release := make(chan struct{})
		register := callbacks()["Registered"]
		for range 4 {
			register(t, ep.Meter("of.others"), func() { <-release })
		}
		slow, err := ep.Meter("slow").Int64ObservableGauge("slow")
		require.NoError(t, err)
		_, err = ep.Meter("slow").RegisterCallback(func(_ context.Context, o metric.Observer) error {
			time.Sleep(time.Millisecond)
			o.ObserveInt64(slow, 1)
			return nil
		}, slow)
		require.NoError(t, err)
		start := time.Now()
		got := text(t, ep)
		assert.Contains(t, got, "\nslow 1\n")
		assert.Less(t, time.Since(start), 5*time.Second)
		require.Len(t, r.errs, 1)
		assert.NotContains(t, r.errs[0].Error(), `"slow"`)
		close(release)
		synctest.Wait()
	})
}

// The error of a callback goes to OnError and not to OpenTelemetry's global
// handler. What it observed before is served.
func TestCallback_ErrorIsReportedWithItsName(t *testing.T) {
	// OpenTelemetry cannot restore the handler that it had at the start.
	defer otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { assert.NoError(t, err, "the global handler") }))
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	refused := errors.New("refused")
	_, err := ep.Meter("x").Int64ObservableGauge("g", metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(3)
		return refused
	}))
	require.NoError(t, err)
	got := text(t, ep)
	assert.Contains(t, got, `a_thing_total{i="0"} 1`)
	assert.Contains(t, got, "\ng 3\n")
	require.Len(t, r.errs, 1)
	require.ErrorIs(t, r.errs[0], refused)
	require.ErrorContains(t, r.errs[0], `of the instrument "g" of the meter "x": refused`)
}

// A periodic reader sends nothing after an error of a callback, and its data
// would be lost. So Options.Readers see none. The next scrape reports it.
func TestCallback_ThatFailsCostsAReaderItsOwnMetrics(t *testing.T) {
	for name, tc := range map[string]struct {
		fail   func(release <-chan struct{})
		want   string
		reason string
	}{
		"panic": {func(<-chan struct{}) { panic(1) }, "panicked with a int", "A panic of another library must not stop an export."},
		"hang":  {func(release <-chan struct{}) { <-release }, "did not return in time", "A callback that hangs must not stop an export."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r reported
				reader := sdkmetric.NewManualReader()
				release := make(chan struct{})
				broken := true
				ep := endpoint(t, prom.Options{OnError: r.add, Readers: []sdkmetric.Reader{reader}}, 1)
				callbacks()["Registered"](t, ep.Meter("of.others"), func() {
					if broken {
						tc.fail(release)
					}
				})
				var data metricdata.ResourceMetrics
				require.NoError(t, reader.Collect(t.Context(), &data), tc.reason)
				assert.NotEmpty(t, data.ScopeMetrics, tc.reason)
				assert.Empty(t, r.errs, "the SDK's lock is held")
				synctest.Wait()
				broken = false
				close(release)
				synctest.Wait()
				for range 2 {
					assert.Contains(t, text(t, ep), "\ntheirs_total 7\n")
				}
				require.Len(t, r.errs, 1, "once")
				require.ErrorContains(t, r.errs[0], tc.want)
			})
		})
	}
}

// A callback may use a slice of options again, and observe in goroutines.
func TestCallback_ObservationsKeepTheirOptions(t *testing.T) {
	ep := endpoint(t, prom.Options{}, 1)
	meter := ep.Meter("x")
	ints, err := meter.Int64ObservableGauge("ints")
	require.NoError(t, err)
	floats, err := meter.Float64ObservableGauge("floats")
	require.NoError(t, err)
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		options := make([]metric.ObserveOption, 1)
		for n := range 3 {
			options[0] = metric.WithAttributes(attribute.Int("n", n))
			o.ObserveInt64(ints, int64(n), options...)
			o.ObserveFloat64(floats, float64(n)/2, options...)
		}
		var wait sync.WaitGroup
		for n := range 3 {
			wait.Go(func() { o.ObserveInt64(ints, int64(n), metric.WithAttributes(attribute.Int("m", n))) })
		}
		wait.Wait()
		return nil
	}, ints, floats)
	require.NoError(t, err)
	got := text(t, ep)
	for _, want := range []string{`ints{n="2"} 2`, `ints{m="1"} 1`, `floats{n="1"} 0.5`, `floats{n="0"} 0`} {
		assert.Contains(t, got, "\n"+want+"\n")
	}
}
