// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Endpoint is a meter provider and the [http.Handler] that serves what is recorded on it. It is safe for concurrent use.
// Make it with [New]. A nil or zero Endpoint cannot be used: it gives no meter, which metrics.New refuses, answers scrapes
// with 503, and has nothing to shut down.
type Endpoint struct {
	// MeterProvider is where instruments are created: metrics.New(ep, metrics.Options{}).
	metric.MeterProvider

	sdk     *sdkmetric.MeterProvider
	handler http.Handler
}

// New makes an endpoint on a registry of its own; it never touches prometheus.DefaultRegisterer or a global of
// OpenTelemetry, and it starts nothing. An option that cannot be used is an error that wraps [ErrOption].
func New(o Options) (*Endpoint, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(o.exporter(registry)...)
	if err != nil {
		return nil, fmt.Errorf("prom: make the exporter: %w", err)
	}
	sdk := sdkmetric.NewMeterProvider(o.provider(exporter)...)
	return &Endpoint{MeterProvider: sdk, sdk: sdk, handler: o.handler(registry)}, nil
}

func (e *Endpoint) made() bool { return e != nil && e.sdk != nil }

// Meter returns the meter of a library, by its name; nil from an Endpoint that [New] did not make.
func (e *Endpoint) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	if !e.made() {
		return nil
	}
	return e.MeterProvider.Meter(name, opts...)
}

// ServeHTTP serves one scrape at any path. A collector that fails costs its own metrics, never the scrape.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.made() {
		http.Error(w, "prom: the endpoint was not made by New", http.StatusServiceUnavailable)
		return
	}
	e.handler.ServeHTTP(w, r)
}

// Shutdown ends the provider: what is recorded later is lost, scrapes show the metrics of Options.Also alone, and the
// Options.Readers send what they have, until ctx ends: the error is of those that could not. A second Shutdown does nothing, and a
// reader that was shut down before is no error.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if !e.made() {
		return nil
	}
	if err := unended(e.sdk.Shutdown(ctx)); err != nil {
		return fmt.Errorf("prom: shut down: %w", err)
	}
	return nil
}

// unended leaves out that a reader was shut down before. The SDK joins the errors of its readers, and that one has nothing
// left to send must not hide that another could not.
func unended(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, unended(e))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return nil
	}
	return err
}

func (o Options) exporter(r prometheus.Registerer) []otelprom.Option {
	opts := []otelprom.Option{
		otelprom.WithRegisterer(r),
		// Pinned, because the default has changed between releases and dashboards depend on the names.
		otelprom.WithTranslationStrategy("UnderscoreEscapingWithSuffixes"),
	}
	if !o.ScopeLabels {
		opts = append(opts, otelprom.WithoutScopeInfo())
	}
	return append(opts, otelprom.WithAggregationSelector(o.aggregation))
}

// aggregation is OpenTelemetry's own choice, but histograms do without the minimum and the maximum, which each record would
// have to keep up to date: Prometheus has no place for them.
func (o Options) aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation { //nolint:ireturn // what the exporter takes
	a := sdkmetric.DefaultAggregationSelector(k)
	if explicit, ok := a.(sdkmetric.AggregationExplicitBucketHistogram); ok {
		if o.NativeHistograms {
			return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20, NoMinMax: true}
		}
		explicit.NoMinMax = true
		return explicit // the bounds are those of an instrument that has none of its own
	}
	return a
}

func (o Options) provider(reader sdkmetric.Reader) []sdkmetric.Option {
	var attrs []attribute.KeyValue
	for k, v := range o.Resource {
		attrs = append(attrs, attribute.String(k, v))
	}
	filter := exemplar.AlwaysOffFilter
	if o.Exemplars {
		filter = exemplar.TraceBasedFilter
	}
	opts := []sdkmetric.Option{
		sdkmetric.WithReader(reader),
		sdkmetric.WithResource(resource.NewSchemaless(attrs...)),
		sdkmetric.WithExemplarFilter(filter),
		sdkmetric.WithCardinalityLimit(o.limit()),
	}
	if o.Exemplars {
		opts = append(opts, sdkmetric.WithView(newestPerBucket))
	}
	for _, r := range o.Readers {
		opts = append(opts, sdkmetric.WithReader(r))
	}
	return opts
}

func (o Options) limit() int {
	const sdkDefault = 2000
	switch {
	case o.CardinalityLimit == 0:
		return sdkDefault
	case o.CardinalityLimit < 0:
		return 0
	}
	return o.CardinalityLimit
}

func (o Options) handler(r *prometheus.Registry) http.Handler {
	inFlight := o.MaxInFlight
	if inFlight == 0 {
		inFlight = defaultInFlight
	}
	gatherers := prometheus.Gatherers{r}
	for _, g := range o.Also {
		gatherers = append(gatherers, prometheus.GathererFunc(guarded(g.Gather)))
	}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{
		ErrorLog:            errorLog(o.OnError),
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            r,
		MaxRequestsInFlight: inFlight,
		EnableOpenMetrics:   o.Exemplars,
	})
}
