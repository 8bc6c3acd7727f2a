// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

var errRefused = errors.New("refused")

// refusing is a provider that refuses histograms, or callbacks.
type refusing struct {
	noop.MeterProvider
	callbacks bool
}

func (p refusing) Meter(string, ...metric.MeterOption) metric.Meter {
	return refusingMeter{callbacks: p.callbacks}
}

type refusingMeter struct {
	noop.Meter
	callbacks bool
}

func (m refusingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if m.callbacks {
		return m.Meter.Float64Histogram(name, o...)
	}
	return nil, errRefused
}

func (m refusingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, errRefused
}
