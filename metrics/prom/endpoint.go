// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/proompteng/controllerkit/internal/isolate"
	"github.com/proompteng/controllerkit/metrics/prom/internal/convert"
)

// Endpoint is a meter provider and the [http.Handler] that serves its metrics.
// It is safe for concurrent use. Make it with [New]. A nil or zero Endpoint
// cannot be used. It gives no meter, which metrics.New refuses. It answers
// scrapes with 503, and has nothing to shut down.
type Endpoint struct {
	// MeterProvider is where instruments are created: metrics.New(ep,
	// metrics.Options{}).
	metric.MeterProvider

	sdk        *sdkmetric.MeterProvider
	collector  *convert.Collector
	collection isolate.Call[convert.Page] // of the collector
	gatherers  []*gatherer
	process    *prometheus.Registry // nil: without metrics of the process
	errors     *errorLog
	timeout    time.Duration
	handler    http.Handler
	writers    sync.Pool // of gzip.Writer
}

// New makes an endpoint with a separate registry. It never touches
// prometheus.DefaultRegisterer or a global of OpenTelemetry, and it starts
// nothing. An option that cannot be used is an error that wraps [ErrOption].
func New(o Options) (*Endpoint, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	reader := sdkmetric.NewManualReader(sdkmetric.WithAggregationSelector(o.aggregation))
	sdk := sdkmetric.NewMeterProvider(o.provider(reader)...)
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	e := &Endpoint{
		MeterProvider: provider{sdk, timeout},
		sdk:           sdk,
		collector:     convert.New(reader),
		errors:        &errorLog{onError: o.OnError},
		timeout:       timeout,
	}
	for _, g := range o.Gatherers {
		e.gatherers = append(e.gatherers, &gatherer{Gatherer: g})
	}
	if !o.NoProcessMetrics {
		e.process = prometheus.NewRegistry()
		for _, c := range []prometheus.Collector{
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		} {
			if err := e.process.Register(c); err != nil {
				return nil, fmt.Errorf("metrics/prom: metrics of the process: %w", err)
			}
		}
	}
	e.handler = promhttp.HandlerFor(prometheus.GathererFunc(e.gather), promhttp.HandlerOpts{
		ErrorLog:            e.errors,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxInFlight,
		EnableOpenMetrics:   o.Exemplars,
		DisableCompression:  true, // answer compresses
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
	return e.MeterProvider.Meter(name, opts...)
}

// ServeHTTP serves one scrape at any path, compressed if the client accepts
// gzip. A callback or gatherer that fails costs its own metrics. If the
// provider's metrics cannot be collected within Options.Timeout, the answer is
// 503.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.made() {
		http.Error(w, "metrics/prom: the endpoint was not made by New", http.StatusServiceUnavailable)
		return
	}
	a := &answer{ResponseWriter: w, gzip: acceptsGzip(r), writers: &e.writers}
	e.handler.ServeHTTP(a, r)
	a.end()
}

// Shutdown ends the provider. Later measurements are lost. Scrapes then show
// only the metrics of Options.Gatherers, of the process and of the handler.
// Each of Options.Readers sends its pending data, until ctx ends. The error
// joins the errors of the readers that could not. A second Shutdown does
// nothing, and a reader that was already shut down causes no error.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	if !e.made() {
		return nil
	}
	if err := unended(e.sdk.Shutdown(ctx)); err != nil {
		return fmt.Errorf("metrics/prom: shutdown: %w", err)
	}
	return nil
}

// unended drops the errors of readers that were shut down before. The SDK joins
// the errors of its readers. A reader with nothing left to send must not hide
// the error of another reader.
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

// aggregation is OpenTelemetry's default, but histograms have no minimum and
// maximum. Each record would have to update them, and Prometheus cannot store
// them.
//
//nolint:ireturn // what the exporter takes
func (o Options) aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	a := sdkmetric.DefaultAggregationSelector(k)
	if explicit, ok := a.(sdkmetric.AggregationExplicitBucketHistogram); ok {
		if o.NativeHistograms {
			return sdkmetric.AggregationBase2ExponentialHistogram{
				MaxSize:  160,
				MaxScale: 20,
				NoMinMax: true,
			}
		}
		explicit.NoMinMax = true
		return explicit // the bounds for an instrument that sets none
	}
	return a
}

func (o Options) provider(reader sdkmetric.Reader) []sdkmetric.Option {
	var attrs []attribute.KeyValue
	for k, v := range o.Resource {
		attrs = append(attrs, attribute.String(k, v))
	}
	filter := exemplar.AlwaysOffFilter
	view := noExemplars
	if o.Exemplars {
		filter = exemplar.TraceBasedFilter
		view = newestPerBucket
	}
	opts := []sdkmetric.Option{
		sdkmetric.WithReader(reader),
		sdkmetric.WithResource(resource.NewSchemaless(attrs...)),
		sdkmetric.WithExemplarFilter(filter),
		sdkmetric.WithView(o.views(view)...),
		sdkmetric.WithCardinalityLimit(o.limit()),
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
