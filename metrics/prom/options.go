// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// ErrOption is wrapped by the error that names each field of Options that
// cannot be used.
var ErrOption = errors.New("metrics/prom: invalid option")

// Options of an endpoint. The zero value is the recommended behaviour.
type Options struct {
	// Resource describes the process: service.name, k8s.namespace.name and the
	// like. It is exposed as target_info together with OTEL_RESOURCE_ATTRIBUTES
	// and OTEL_SERVICE_NAME, and overrides them. Zero means only the
	// environment.
	Resource map[string]string
	// CardinalityLimit bounds the attribute sets of each instrument. Beyond it
	// OpenTelemetry's SDK folds further sets into one series without their
	// labels. Zero means 2000, below zero means no limit.
	CardinalityLimit int
	// Exemplars links histogram buckets to the trace of a sampled span, the
	// newest of each bucket to within a second. It also serves OpenMetrics, the
	// only text format that carries exemplars. Each bucket with an exemplar
	// costs 64 bytes. Zero means none.
	Exemplars bool
	// NativeHistograms serves exponential histograms instead of fixed buckets.
	// They need a Prometheus that scrapes protobuf (scrape_native_histograms);
	// the text format shows only their sum and count. Zero means fixed buckets.
	NativeHistograms bool
	// Gatherers is served as well, for example controller-runtime's
	// metrics.Registry. Do not also register the endpoint with it. Of two equal
	// series the earlier one is served. The labels of each metric must be
	// sorted by name, as a Registry sorts them. Zero means no other gatherer.
	Gatherers []prometheus.Gatherer
	// Views drop instruments, or change their buckets or attributes, also those
	// of other libraries. The first view that matches an instrument counts.
	// Without the attribute controller the series of all controllers are one,
	// and of an age or a state the last one counts. Zero means that all
	// instruments are served unchanged.
	Views []sdkmetric.View
	// Readers get the same metrics as scrapes do, for example a periodic reader
	// that sends them by OTLP. A callback that fails costs them its own metrics
	// only, and the next scrape reports the error. Each reader keeps its own
	// sums, which makes a record more expensive. A reader with delta
	// temporality sends the whole count of a queue or controller again that had
	// ended and has come back. Shutdown flushes and ends them. Zero means no
	// other reader.
	Readers []sdkmetric.Reader
	// NoProcessMetrics leaves out the metrics of the process and of Go's
	// runtime, process_* and go_*, which the alert ControllerRestarts and a row
	// of the dashboard need. Without them the alerts also miss what a process
	// counted before its first scrape. Zero means that they are served, unless
	// a gatherer serves them.
	NoProcessMetrics bool
	// Timeout bounds how long a scrape waits for callbacks and gatherers. One
	// that does not return costs its own metrics. A callback has at most four
	// fifths of Timeout. Keep it below Prometheus' scrape_timeout. Zero means
	// 5 s, half of Prometheus' default. Below zero is an error.
	Timeout time.Duration
	// OnError, if set, is called for each scrape that had errors. It receives
	// one error that joins all of them: errors and panics of callbacks and
	// gatherers, and metrics that Prometheus does not accept. An error that
	// lasts comes again at the next scrape. OnError must be safe for concurrent
	// use. Zero means that only promhttp_metric_handler_errors_total counts it.
	OnError func(error)

	_ struct{} // keyed literals only, so that fields can be added
}

// maxInFlight allows concurrent scrapes by two Prometheus replicas and a
// person. More are answered with 503.
const maxInFlight = 3

const defaultTimeout = 5 * time.Second

// check returns an error for each option that cannot be used.
func (o Options) check() error {
	var errs []error
	refuse := func(field string, value any, accepted string) {
		errs = append(errs, fmt.Errorf("%w: Options.%s: %v is not accepted; want %s",
			ErrOption, field, value, accepted))
	}
	if o.Timeout < 0 {
		refuse("Timeout", o.Timeout, fmt.Sprintf("a positive duration, or 0 for %v", defaultTimeout))
	}
	for i, g := range o.Gatherers {
		if isnil.Is(g) {
			refuse(fmt.Sprintf("Gatherers[%d]", i), "nil", "a gatherer")
		}
	}
	for i, v := range o.Views {
		if v == nil {
			refuse(fmt.Sprintf("Views[%d]", i), "nil", "a view")
		}
	}
	for i, r := range o.Readers {
		if isnil.Is(r) {
			refuse(fmt.Sprintf("Readers[%d]", i), "nil", "a reader")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o.Resource)) {
		v := o.Resource[k]
		if k == "" || !utf8.ValidString(k) || !utf8.ValidString(v) {
			field := fmt.Sprintf("Resource[%q]", k)
			refuse(field, strconv.Quote(v), "a name that is not empty, and UTF-8")
		}
	}
	return errors.Join(errs...)
}
