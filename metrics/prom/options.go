// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// ErrOption is wrapped by the error that names the field of Options that cannot be used.
var ErrOption = errors.New("prom: invalid option")

// Options of an endpoint. The zero value is the recommended behaviour.
type Options struct {
	// Resource describes the process: service.name, k8s.namespace.name and the like, exposed as target_info together
	// with OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, over which it wins. Zero means the environment alone.
	Resource map[string]string
	// CardinalityLimit bounds the attribute sets of each instrument; beyond it OpenTelemetry's SDK folds all into one
	// series that has lost its labels. Zero means 2000, below zero means no limit.
	CardinalityLimit int
	// Exemplars links histogram buckets to the trace of a sampled span, the newest of each bucket to within a second, and serves
	// OpenMetrics, which alone carries them. Each bucket that has one costs 64 bytes. Zero means none.
	Exemplars bool
	// NativeHistograms serves exponential histograms instead of fixed buckets. They need a Prometheus that scrapes
	// protobuf (scrape_native_histograms); the text format shows only their sum and count. The dashboard and alerts of
	// package manifest ask for fixed buckets: without them the panels of durations are empty and ControllerReconcileSlow
	// never fires. Zero means fixed buckets.
	NativeHistograms bool
	// ScopeLabels adds the otel_scope_ labels to each series, which doubles the bytes of a scrape. Zero means that
	// names must be unique in the process.
	ScopeLabels bool
	// Also is served as well, for example controller-runtime's metrics.Registry. Of two equal series the earlier
	// one is served. Zero means nothing else.
	Also []prometheus.Gatherer
	// Readers get the same metrics as scrapes do, for example a periodic reader that sends them by OTLP. Each makes a
	// record dearer by its own sums; Shutdown flushes and ends them. Zero means that scrapes are all.
	Readers []sdkmetric.Reader
	// MaxInFlight bounds concurrent scrapes; more are answered with 503. Zero means 3, below zero is an error.
	MaxInFlight int
	// OnError is told what was wrong with a scrape that was served without it. It must be safe for concurrent use.
	// Zero means that promhttp_metric_handler_errors_total alone tells.
	OnError func(error)

	_ struct{} // keyed literals only, so that fields can be added
}

// defaultInFlight lets two Prometheus replicas and a person look at once.
const defaultInFlight = 3

func (o Options) check() error {
	if o.MaxInFlight < 0 {
		return fmt.Errorf("%w: MaxInFlight is %d, want 0 (for %d) or more", ErrOption, o.MaxInFlight, defaultInFlight)
	}
	for i, g := range o.Also {
		if v := reflect.ValueOf(g); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%w: Also[%d] is nil", ErrOption, i)
		}
	}
	for i, r := range o.Readers {
		if v := reflect.ValueOf(r); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%w: Readers[%d] is nil", ErrOption, i)
		}
	}
	for k, v := range o.Resource {
		if k == "" || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fmt.Errorf("%w: Resource[%q]: want a name that is not empty, and UTF-8", ErrOption, k)
		}
	}
	return nil
}
