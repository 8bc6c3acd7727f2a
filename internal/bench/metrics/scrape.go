// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"

	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/kube"
)

// wrapped compares a scrape with one of OpenTelemetry's exporter alone.
func wrapped(ctx context.Context) (bench.Measure, error) {
	const controllers = 50
	ours, err := populated(ctx, exported, controllers)
	if err != nil {
		return bench.Measure{}, err
	}
	theirs, err := populated(ctx, official, controllers)
	return bench.Measure{
		Name:  "scrape of 50 controllers",
		Ours:  scraping(ctx, "", ours),
		Peers: []bench.Subject{scraping(ctx, exporter, theirs)},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: exporter, Limit: "<= 1.15x"}},
	}, err
}

// pages makes metrics, and the page that shows them.
type pages func() (http.Handler, *metrics.Metrics, error)

// official are metrics on OpenTelemetry's exporter without package prom, and
// the page that shows them and the process.
func official() (http.Handler, *metrics.Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, nil, err
	}
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter),
		sdkmetric.WithCardinalityLimit(2000),
	)
	m, err := metrics.New(provider, metrics.Options{})
	page := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry: registry,
		Timeout:  5 * time.Second,
	})
	return page, m, err
}

// growth compares a scrape of many series with one of a tenth of them.
func growth(ctx context.Context) (bench.Measure, error) {
	many, err := populated(ctx, exported, 150)
	if err != nil {
		return bench.Measure{}, err
	}
	few, err := populated(ctx, exported, 15)
	return bench.Measure{
		Name:  "scrape of 150 controllers, next to 15",
		Ours:  scraping(ctx, "", many),
		Peers: []bench.Subject{scraping(ctx, fewer, few)},
		Gates: []bench.Gate{
			{Unit: bench.Nanos, Peer: fewer, Limit: "<= 12x"},
			{Unit: bench.Allocs, Peer: fewer, Limit: "<= 10.5x"},
		},
	}, err
}

// populated is a page with n controllers. Each had a successful reconcile and an
// item in its queue.
func populated(ctx context.Context, of pages, n int) (http.Handler, error) {
	page, m, err := of()
	if err != nil {
		return nil, err
	}
	for i := range n {
		c := m.Controller("controller-" + strconv.Itoa(i)) //nolint:contextcheck // zeros have no context
		c.SetWorkers(1)
		err := reconcile(ctx, c)
		if err != nil {
			return nil, err
		}
		provider, err := kube.QueueProvider(c) //nolint:contextcheck // a queue has no context
		if err != nil {
			return nil, err
		}
		config := workqueue.TypedQueueConfig[string]{Name: "c", MetricsProvider: provider}
		q := workqueue.NewTypedWithConfig(config)
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)
		q.ShutDown()
	}
	return page, nil
}

// scraping serves scrapes in the text format to a client that discards them.
func scraping(ctx context.Context, name string, h http.Handler) bench.Subject {
	return bench.Subject{Name: name, Do: bench.Each(func() error { return scrape(ctx, h) })}
}

func scrape(ctx context.Context, h http.Handler) error {
	w := &httptest.ResponseRecorder{Code: http.StatusOK} // without a body
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		return fmt.Errorf("the scrape answers %d", w.Code)
	}
	return nil
}
