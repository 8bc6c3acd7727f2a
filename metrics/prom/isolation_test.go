// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/proompteng/controllerkit/metrics/prom"
)

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

	observed(t, ep, "broken", 7, func() error { panic(1) })
	h, err := ep.Meter("x").Float64Histogram("h")
	require.NoError(t, err)
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("le", "x")))
	c, err := ep.Meter("x").Int64Counter("c")
	require.NoError(t, err)
	c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("a", "\xff")))
	assert.Contains(t, text(t, page), `a_thing_total{i="0"} 1`)
	require.Len(t, r.errs, 1)
	for _, part := range []string{"panicked", `attribute "le"`, "not valid UTF-8"} {
		require.ErrorContains(t, r.errs[0], part)
	}

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

	theirs := prometheus.NewRegistry() // as controller-runtime's, which has them already
	require.NoError(t, theirs.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "go_goroutines"}, func() float64 { return 4711 })))
	var r reported
	got = text(t, endpoint(t, prom.Options{OnError: r.add, Gatherers: []prometheus.Gatherer{theirs}}, 1))
	assert.Contains(t, got, "\ngo_goroutines 4711\n")
	assert.Contains(t, got, "\nprocess_start_time_seconds ")
	assert.Empty(t, r.errs)
}

// Two managers of one process share a registry, and each has a server. The
// second registration says that the endpoint is there, and each server can have
// it as a handler.
func TestRegister_BySeveralManagersOfOneProcess(t *testing.T) {
	ep := endpoint(t, prom.Options{}, 1)
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
