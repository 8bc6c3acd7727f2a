// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Options of an endpoint. The zero value is the recommended behaviour.
type Options struct {
	// Resource describes the process: service.name, k8s.namespace.name and the
	// like. It is exposed as target_info together with OTEL_RESOURCE_ATTRIBUTES
	// and OTEL_SERVICE_NAME, and overrides them. Zero means only the
	// environment.
	Resource map[string]string
	// CardinalityLimit bounds the attribute sets of each instrument. Beyond it
	// OpenTelemetry's SDK adds further sets to one series that has the label
	// otel_metric_overflow instead of theirs. Zero means 2000, below zero means
	// no limit.
	CardinalityLimit int
	// Exemplars links buckets of histograms, and counters, to the trace of a
	// sampled span. It also serves OpenMetrics, the only text format that
	// carries exemplars. Zero means none.
	Exemplars bool
	// Gatherers is served as well, for example controller-runtime's
	// metrics.Registry. Do not also register the endpoint with it. Of two equal
	// series the earlier one is served. Zero means no other gatherer.
	Gatherers []prometheus.Gatherer
	// Readers get the same metrics as scrapes do, for example a periodic reader
	// that sends them by OTLP. Each reader keeps its own sums, which makes a
	// record more expensive. Shutdown flushes and ends them. Zero means no
	// other reader.
	Readers []sdkmetric.Reader
	// Timeout bounds a scrape, which is then answered with 503. Keep it below
	// Prometheus' scrape_timeout, and above the two seconds for which package
	// metrics waits for your functions. Zero means 5 s, half of Prometheus'
	// default. Below zero is an error.
	Timeout time.Duration
	// OnError, if set, is called for each scrape that had errors. It receives
	// one error that joins all of them: errors and panics of callbacks and
	// gatherers, and metrics that Prometheus does not accept. An error that
	// lasts comes again at the next scrape. OnError must be safe for concurrent
	// use. Zero means that only promhttp_metric_handler_errors_total counts it.
	OnError func(error)

	_ struct{} // keyed literals only, so that fields can be added
}

const (
	defaultTimeout = 5 * time.Second
	// defaultLimit is the one of OpenTelemetry's specification.
	defaultLimit = 2000
	// maxInFlight allows concurrent scrapes by two Prometheus replicas and a
	// person. More are answered with 503.
	maxInFlight = 3
)

// check returns an error for each option that cannot be used.
func (o Options) check() error {
	var errs []error
	refuse := func(field string, value any, accepted string) {
		errs = append(errs, fmt.Errorf("metrics/prom: invalid option: Options.%s: %v is not accepted; "+
			"want %s", field, value, accepted))
	}
	if o.Timeout < 0 {
		refuse("Timeout", o.Timeout, fmt.Sprintf("a positive duration, or 0 for %v", defaultTimeout))
	}
	for i, g := range o.Gatherers {
		if isnil.Is(g) {
			refuse(fmt.Sprintf("Gatherers[%d]", i), "nil", "a gatherer")
		}
	}
	for i, r := range o.Readers {
		if isnil.Is(r) {
			refuse(fmt.Sprintf("Readers[%d]", i), "nil", "a reader")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Resource)) {
		value := o.Resource[name]
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			field := fmt.Sprintf("Resource[%q]", name)
			refuse(field, fmt.Sprintf("%q", value), "a name that is not empty, and UTF-8")
		}
	}
	return errors.Join(errs...)
}

// provider returns the SDK's options for a provider that reader reads.
func (o Options) provider(reader sdkmetric.Reader) []sdkmetric.Option {
	var attributes []attribute.KeyValue
	for name, value := range o.Resource {
		attributes = append(attributes, attribute.String(name, value))
	}
	filter := exemplar.AlwaysOffFilter
	if o.Exemplars {
		filter = exemplar.TraceBasedFilter
	}
	all := []sdkmetric.Option{
		sdkmetric.WithReader(reader),
		sdkmetric.WithResource(resource.NewSchemaless(attributes...)),
		sdkmetric.WithExemplarFilter(filter),
		sdkmetric.WithCardinalityLimit(cmp.Or(o.CardinalityLimit, defaultLimit)),
	}
	for _, r := range o.Readers {
		all = append(all, sdkmetric.WithReader(r))
	}
	return all
}
