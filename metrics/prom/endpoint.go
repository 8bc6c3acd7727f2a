// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// Endpoint is a meter provider and the [http.Handler] that serves its metrics.
// It is safe for concurrent use. Make it with [New]. A nil or zero Endpoint
// cannot be used. It gives no meter, which metrics.New refuses. It answers
// scrapes with 503, and has nothing to shut down.
type Endpoint struct {
	embedded.MeterProvider

	sdk       *sdkmetric.MeterProvider
	ended     atomic.Bool
	callbacks failures             // of the provider's callbacks
	provider  *prometheus.Registry // has OpenTelemetry's exporter
	process   *prometheus.Registry // has the process, Go and the handler
	gatherers []prometheus.Gatherer
	onError   func(error)
	handler   http.Handler
}

// New makes an endpoint with separate registries. It never touches
// prometheus.DefaultRegisterer or a global of OpenTelemetry, and it starts
// nothing. The error names each field of Options that cannot be used, and the
// accepted values.
func New(o Options) (*Endpoint, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Endpoint{
		provider:  prometheus.NewRegistry(),
		process:   prometheus.NewRegistry(),
		gatherers: o.Gatherers,
		onError:   o.OnError,
	}
	exporter := prometheus.NewRegistry()
	reader, err := otelprom.New(
		otelprom.WithRegisterer(exporter),
		// Named, because the exporter's default has changed between releases
		// and dashboards depend on the names.
		otelprom.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		otelprom.WithoutScopeInfo(),
	)
	if err != nil {
		return nil, fmt.Errorf("metrics/prom: %w", err)
	}
	e.sdk = sdkmetric.NewMeterProvider(o.provider(reader)...)
	e.provider.MustRegister(&exported{Collector: exporter, reader: reader})
	e.process.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	e.handler = promhttp.HandlerFor(prometheus.GathererFunc(e.page), promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            e.process,
		MaxRequestsInFlight: maxInFlight,
		Timeout:             cmp.Or(o.Timeout, defaultTimeout),
		EnableOpenMetrics:   o.Exemplars,
	})
	return e, nil
}

func (e *Endpoint) made() bool { return e != nil && e.sdk != nil }

// Meter returns the meter of a library, by its name; nil from an Endpoint that
// [New] did not make.
func (e *Endpoint) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	if !e.made() {
		return nil
	}
	return meter{e.sdk.Meter(name, opts...), name, &e.callbacks}
}

// ServeHTTP serves one scrape at any path, compressed if the client accepts
// gzip. It answers 503 after Options.Timeout, and while three scrapes run.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.made() {
		http.Error(w, "metrics/prom: the endpoint was not made by New", http.StatusServiceUnavailable)
		return
	}
	e.handler.ServeHTTP(w, r)
}

// Shutdown ends the provider. Later measurements are lost. Scrapes then show
// only the metrics of Options.Gatherers, of the process and of the handler.
// Each of Options.Readers sends its pending data, until ctx ends. The error
// joins the errors of the readers that could not. A second Shutdown does
// nothing.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if !e.made() || e.ended.Swap(true) {
		return nil
	}
	if err := e.sdk.Shutdown(ctx); err != nil {
		return fmt.Errorf("metrics/prom: shutdown: %w", err)
	}
	return nil
}
