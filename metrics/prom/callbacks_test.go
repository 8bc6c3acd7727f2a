// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// observed makes a counter whose registered callback observes value and then
// calls do.
func observed(t *testing.T, ep *prom.Endpoint, name string, value int64, do func() error) metric.Registration {
	t.Helper()
	meter := ep.Meter("of." + name)
	c, err := meter.Int64ObservableCounter(name)
	require.NoError(t, err)
	registered, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(c, value)
		return do()
	}, c)
	require.NoError(t, err)
	return registered
}

func fine() error { return nil }

// reported is what OnError was called with.
type reported struct{ errs []error }

func (r *reported) add(err error) { r.errs = append(r.errs, err) }

// A callback that panics costs its own metrics. OnError names its meter and
// shows nothing of the panic's value, and the counts of others do not double.
func TestCallback_ThatPanicsCostsItsOwnMetrics(t *testing.T) {
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	observed(t, ep, "before", 100, fine)
	broken := true
	observed(t, ep, "theirs", 7, func() error {
		if broken {
			panic("password=hunter2")
		}
		return nil
	})
	observed(t, ep, "after", 200, fine)
	for n := range 3 {
		w := scrape(t, ep, "")
		assert.Equal(t, http.StatusOK, w.Code)
		for _, series := range []string{`a_thing_total{i="0"} 1`, "before_total 100", "after_total 200"} {
			assert.Contains(t, w.Body.String(), "\n"+series+"\n")
		}
		require.Len(t, r.errs, n+1, "once for each scrape")
		require.EqualError(t, r.errs[n], `metrics/prom: collect: a callback of the meter "of.theirs": panicked with a string`)
	}
	broken = false
	got := text(t, ep)
	assert.Contains(t, got, "\ntheirs_total 7\n")
	assert.Contains(t, got, "\nbefore_total 100\n", "not four times as much")
	assert.Contains(t, got, `promhttp_metric_handler_errors_total{cause="gathering"} 3`)
	assert.Len(t, r.errs, 3)
}

// The error of a callback goes to OnError and not to OpenTelemetry's global
// handler. What it observed is served.
func TestCallback_ErrorIsReportedWithItsMeter(t *testing.T) {
	// OpenTelemetry cannot restore the handler that it had at the start.
	defer otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { assert.NoError(t, err, "the global handler") }))
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	refused := errors.New("refused")
	timeout := errors.New("timeout")
	observed(t, ep, "first", 3, func() error { return refused })
	observed(t, ep, "second", 4, func() error { return timeout })
	got := text(t, ep)
	assert.Contains(t, got, `a_thing_total{i="0"} 1`)
	assert.Contains(t, got, "\nfirst_total 3\n")
	require.Len(t, r.errs, 1)
	require.ErrorIs(t, r.errs[0], refused)
	require.ErrorIs(t, r.errs[0], timeout)
	require.ErrorContains(t, r.errs[0], "metrics/prom: collect: ")
	require.ErrorContains(t, r.errs[0], `a callback of the meter "of.first": refused`)
}

// A periodic reader sends nothing after an error of a callback, and its data
// would be lost. So Options.Readers see none. A reader that collects more often
// than a scrape leaves one error of a callback.
func TestCallback_ThatFailsDoesNotStopAReader(t *testing.T) {
	refused := errors.New("refused")
	for name, fail := range map[string]func() error{
		"Panic": func() error { panic(refused) },
		"Error": func() error { return refused },
	} {
		t.Run(name, func(t *testing.T) {
			var r reported
			reader := sdkmetric.NewManualReader()
			ep := endpoint(t, prom.Options{OnError: r.add, Readers: []sdkmetric.Reader{reader}}, 1)
			observed(t, ep, "theirs", 7, fail)
			for range 3 {
				var data metricdata.ResourceMetrics
				require.NoError(t, reader.Collect(t.Context(), &data))
				assert.Len(t, data.ScopeMetrics, 2)
			}
			assert.Empty(t, r.errs, "the SDK's lock is held")
			text(t, ep)
			require.Len(t, r.errs, 1)
			assert.Equal(t, 1, strings.Count(r.errs[0].Error(), "of.theirs"))
		})
	}
}

// The callback of one instrument is not guarded by itself. Its panic costs the
// provider's metrics of that scrape, with each version of client_golang, and
// the counts of others do not double.
func TestCallback_OfAnInstrumentThatPanicsCostsTheProvidersMetrics(t *testing.T) {
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	broken := true
	sum := func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(100)
		return nil
	}
	for _, name := range []string{"first", "last"} {
		_, err := ep.Meter("others").Int64ObservableCounter(name, metric.WithInt64Callback(sum))
		require.NoError(t, err)
		_, err = ep.Meter("theirs").Int64ObservableGauge("theirs."+name, metric.WithInt64Callback(func(context.Context, metric.Int64Observer) error {
			if broken {
				panic("password=hunter2")
			}
			return nil
		}))
		require.NoError(t, err)
	}
	for range 3 {
		got := text(t, ep)
		assert.NotContains(t, got, "a_thing_total")
		assert.Contains(t, got, "\nprocess_start_time_seconds ")
	}
	require.Len(t, r.errs, 3)
	require.EqualError(t, r.errs[0], "metrics/prom: collect: the callback of an instrument panicked with a string")
	broken = false
	for range 2 {
		got := text(t, ep)
		assert.Contains(t, got, `a_thing_total{i="0"} 1`)
		assert.Contains(t, got, "\nfirst_total 100\n")
		assert.Contains(t, got, "\nlast_total 100\n")
	}
	assert.Len(t, r.errs, 3)
}

// A callback that is unregistered is neither called nor reported again.
func TestCallback_UnregisteredIsNotReported(t *testing.T) {
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	registered := observed(t, ep, "theirs", 7, func() error { return errors.New("refused") })
	text(t, ep)
	require.NoError(t, registered.Unregister())
	assert.NotContains(t, text(t, ep), "theirs_total")
	assert.Len(t, r.errs, 1)
}

// Prometheus refuses a page in which a bucket has two labels le.
func TestScrape_RefusesTheAttributeOfBuckets(t *testing.T) {
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	meter := ep.Meter("theirs")
	h, err := meter.Float64Histogram("h", metric.WithExplicitBucketBoundaries(1))
	require.NoError(t, err)
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("a", "x")))
	only, err := meter.Float64Histogram("only")
	require.NoError(t, err)
	only.Record(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	c, err := meter.Int64Counter("c")
	require.NoError(t, err)
	c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	text(t, ep)
	page := text(t, ep)
	assert.Contains(t, page, `h_count{a="x"} 1`)
	assert.NotContains(t, page, `h_count{le="x"}`)
	assert.NotContains(t, page, "only", "a family without series")
	assert.Contains(t, page, `promhttp_metric_handler_errors_total{cause="encoding"} 0`, "nor an attempt to write it")
	assert.Contains(t, page, `c_total{le="x"} 1`, "a counter has no buckets")
	require.Len(t, r.errs, 2, "once a scrape")
	require.ErrorContains(t, r.errs[0], `metrics/prom: collect: h: the attribute "le" of a histogram is not accepted; want another name`)
}
