// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"time"

	dto "github.com/prometheus/client_model/go"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/proompteng/controllerkit/metrics/prom/internal/convert"
)

// Aggregation is what the endpoint's reader asks the SDK for.
func Aggregation(o Options) sdkmetric.AggregationSelector { return o.aggregation }

// NewOver is an endpoint over the reader of an exporter, so that both see the
// same points, exemplars included.
func NewOver(o Options, reader sdkmetric.Reader) *Endpoint {
	manual, _ := reader.(*sdkmetric.ManualReader)
	c := convert.New(manual)
	sdk := sdkmetric.NewMeterProvider(o.provider(reader)...)
	return &Endpoint{MeterProvider: provider{sdk, time.Minute}, sdk: sdk, collector: c, errors: new(errorLog), timeout: time.Minute}
}

// Gather is what a scrape serves, before it is written.
func Gather(e *Endpoint) ([]*dto.MetricFamily, error) { return e.gather() }

// Cached is the number of series that the endpoint remembers.
func Cached(e *Endpoint) (n int) { return e.collector.Series() }
