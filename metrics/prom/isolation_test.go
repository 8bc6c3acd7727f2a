// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// reported is what OnError was called with.
type reported struct{ errs []error }

func (r *reported) add(err error) { r.errs = append(r.errs, err) }

// gatherFunc is a gatherer.
type gatherFunc func() ([]*dto.MetricFamily, error)

func (f gatherFunc) Gather() ([]*dto.MetricFamily, error) { return f() }

// A gatherer that hangs costs its own metrics.
func TestAGathererThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reported
		release := make(chan struct{})
		var calls atomic.Int64
		ep := withDefaults(t, prom.Options{OnError: r.add, Gatherers: []prometheus.Gatherer{
			gatherFunc(func() ([]*dto.MetricFamily, error) { calls.Add(1); <-release; return nil, nil }),
			counter(t, "theirs_total", 7),
		}}, 1)
		start := time.Now()
		for n := range 3 {
			got := text(t, ep)
			assert.Contains(t, got, `a_thing_total{i="0"} 1`)
			assert.Contains(t, got, "theirs_total 7")
			require.Len(t, r.errs, n+1)
			require.ErrorContains(t, r.errs[n], "Options.Gatherers[0]: did not return in time")
		}
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Equal(t, int64(1), calls.Load())
		close(release)
		synctest.Wait()
		text(t, ep)
		assert.Len(t, r.errs, 3)
		assert.Equal(t, int64(2), calls.Load())
	})
}

// The endpoint's metrics are in another registry too. A callback that fails
// costs its own metrics there, too.
func TestAsACollector(t *testing.T) {
	var r reported
	ep := endpoint(t, prom.Options{OnError: r.add}, 1)
	theirs := prometheus.NewRegistry()
	require.NoError(t, theirs.Register(ep))
	second, err := prom.New(prom.Options{})
	require.NoError(t, err)
	require.Error(t, theirs.Register(second), "it would have the series of the first")
	require.NoError(t, theirs.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "theirs"})))
	page := promhttp.HandlerFor(theirs, promhttp.HandlerOpts{})
	got := text(t, page)
	assert.Contains(t, got, `a_thing_total{i="0"} 1`)
	assert.Contains(t, got, "theirs 0")
	assert.NotContains(t, got, "process_", "theirs may have them")
	assert.Empty(t, r.errs)

	_, err = ep.Meter("x").Int64ObservableGauge("g", metric.WithInt64Callback(func(context.Context, metric.Int64Observer) error { panic(1) }))
	require.NoError(t, err)
	assert.Contains(t, text(t, page), `a_thing_total{i="0"} 1`)
	assert.Len(t, r.errs, 1)

	empty := prometheus.NewRegistry()
	require.NoError(t, empty.Register(&prom.Endpoint{}))
	families, err := empty.Gather()
	require.NoError(t, err)
	assert.Empty(t, families)
}

// stalled is a client that reads nothing until it is released.
type stalled struct {
	*httptest.ResponseRecorder
	entered, release chan struct{}
	once             sync.Once
}

func (s *stalled) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.entered); <-s.release })
	return len(b), nil
}

func TestASlowClientHoldsNoLock(t *testing.T) {
	ep := endpoint(t, prom.Options{}, 1)
	slow := &stalled{ResponseRecorder: httptest.NewRecorder(), entered: make(chan struct{}), release: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ep.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	}()
	<-slow.entered
	assert.Contains(t, text(t, ep), `a_thing_total{i="0"} 1`)
	c, err := ep.Meter("test").Int64Counter("new.thing")
	require.NoError(t, err)
	c.Add(t.Context(), 1)
	require.NoError(t, ep.Shutdown(t.Context()))
	close(slow.release)
	<-ended
}

// Scrapes and records during a shutdown.
func TestScrapesWhileShuttingDown(t *testing.T) {
	ep := endpoint(t, prom.Options{Exemplars: true}, 1)
	h, err := ep.Meter("x").Float64Histogram("seconds")
	require.NoError(t, err)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for range 50 {
				h.Record(sampled(t.Context(), 1), .1)
				w := scrape(t, ep, "application/openmetrics-text")
				assert.Equal(t, http.StatusOK, w.Code, w.Body.String())
			}
		})
	}
	wait.Go(func() { assert.NoError(t, ep.Shutdown(t.Context())) })
	wait.Wait()
	assert.NotContains(t, text(t, ep), "\nseconds_count")
}

// The process is described by default, once.
func TestProcessMetrics(t *testing.T) {
	got := text(t, endpoint(t, prom.Options{}, 1))
	assert.Contains(t, got, "\nprocess_start_time_seconds ")
	assert.Contains(t, got, "\ngo_goroutines ")
	assert.NotContains(t, text(t, endpoint(t, prom.Options{NoProcessMetrics: true}, 1)), "\ngo_goroutines ")

	theirs := prometheus.NewRegistry() // as controller-runtime's, which has them already
	require.NoError(t, theirs.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "go_goroutines"}, func() float64 { return 4711 })))
	var r reported
	got = text(t, endpoint(t, prom.Options{OnError: r.add, Gatherers: []prometheus.Gatherer{theirs}}, 1))
	assert.Contains(t, got, "\ngo_goroutines 4711\n")
	assert.Contains(t, got, "\nprocess_start_time_seconds ")
	assert.Empty(t, r.errs)
}

// Short-lived series do not pile up in the endpoint.
func TestSeriesThatAreGoneAreForgotten(t *testing.T) {
	ep, err := prom.New(prom.Options{})
	require.NoError(t, err)
	n := 0
	_, err = ep.Meter("x").Int64ObservableGauge("g", metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		n++
		o.Observe(int64(n), metric.WithAttributes(attribute.Int("n", n)))
		return nil
	}))
	require.NoError(t, err)
	for range 1000 {
		scrape(t, ep, "")
	}
	assert.Less(t, prom.Cached(ep), 50)
}

// An instrument that stops leaves no series behind in the endpoint.
func TestAnInstrumentThatStopsIsForgotten(t *testing.T) {
	ep, err := prom.New(prom.Options{})
	require.NoError(t, err)
	meter := ep.Meter("x")
	g, err := meter.Int64ObservableGauge("g")
	require.NoError(t, err)
	registered, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for n := range 1000 {
			o.ObserveInt64(g, int64(n), metric.WithAttributes(attribute.Int("n", n)))
		}
		return nil
	}, g)
	require.NoError(t, err)
	scrape(t, ep, "")
	assert.Equal(t, 1000, prom.Cached(ep))
	require.NoError(t, registered.Unregister())
	scrape(t, ep, "")
	assert.Zero(t, prom.Cached(ep))
}

// Two managers of one process share a registry, and each has a server. The
// second registration says that the endpoint is there, and each server can have
// it as a handler.
func TestRegister_BySeveralManagersOfOneProcess(t *testing.T) {
	ep := endpoint(t, prom.Options{NoProcessMetrics: true}, 1)
	shared := prometheus.NewRegistry()
	require.NoError(t, shared.Register(ep))
	var already prometheus.AlreadyRegisteredError
	require.ErrorAs(t, shared.Register(ep), &already)
	assert.Same(t, ep, already.ExistingCollector)
	families, err := shared.Gather()
	require.NoError(t, err)
	assert.NotEmpty(t, families)
	for range 2 {
		server := http.NewServeMux()
		server.Handle("/metrics/all", ep)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics/all", http.NoBody))
		assert.Equal(t, http.StatusOK, w.Code)
	}
}
