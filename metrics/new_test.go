// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/proompteng/controllerkit/metrics"
	"github.com/proompteng/controllerkit/metrics/prom"
)

var errRefused = errors.New("refused")

// refusing is a provider that refuses histograms, or callbacks.
// refusing is a provider that refuses one method of its meter.
type refusing struct {
	noop.MeterProvider
	method string
}

func (p refusing) Meter(string, ...metric.MeterOption) metric.Meter {
	return refusingMeter{method: p.method}
}

type refusingMeter struct {
	noop.Meter
	method string
}

func (m refusingMeter) refuse(method string) error {
	if method == m.method {
		return errRefused
	}
	return nil
}

func (m refusingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, m.refuse("Float64Histogram")
}

func (m refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, m.refuse("Int64Counter")
}

func (m refusingMeter) Int64UpDownCounter(string, ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return noop.Int64UpDownCounter{}, m.refuse("Int64UpDownCounter")
}

func (m refusingMeter) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, m.refuse("Int64ObservableUpDownCounter")
}

func (m refusingMeter) Int64ObservableGauge(string, ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return noop.Int64ObservableGauge{}, m.refuse("Int64ObservableGauge")
}

func (m refusingMeter) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return noop.Float64ObservableGauge{}, m.refuse("Float64ObservableGauge")
}

func (m refusingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, m.refuse("RegisterCallback")
}

func TestNew_Refuses(t *testing.T) {
	var dropped *prom.Endpoint // what remains when the error of prom.New was not looked at
	cases := map[string]struct {
		reason   string
		provider metric.MeterProvider
		want     error
		text     string
	}{
		"NoProvider":   {"Nothing falls back to the global one.", nil, nil, "metrics: no usable meter provider: it is nil; pass a prom.Endpoint"},
		"NilPointer":   {"A nil pointer in the interface counts as a nil provider.", dropped, nil, "metrics: no usable meter provider: it is nil; pass a prom.Endpoint"},
		"ZeroEndpoint": {"An endpoint that prom.New did not make gives no meter.", &prom.Endpoint{}, nil, "metrics: no usable meter provider: *prom.Endpoint gives no meter; make it with its constructor"},
		"NoCallback":   {"New returns the provider's error for the callback.", refusing{method: "RegisterCallback"}, errRefused, "register"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := metrics.New(tc.provider, metrics.Options{})
			require.ErrorContains(t, err, tc.text, tc.reason)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want, tc.reason)
			}
			assert.Nil(t, m)
		})
	}
	for _, method := range []string{
		"Float64Histogram", "Int64Counter", "Int64UpDownCounter",
		"Int64ObservableUpDownCounter", "Int64ObservableGauge", "Float64ObservableGauge",
	} {
		_, err := metrics.New(refusing{method: method}, metrics.Options{})
		require.ErrorIs(t, err, errRefused, method)
		require.ErrorContains(t, err, "metrics: create instruments: ")
	}
}

// TestNew_WorksWithAnyProvider: one that does nothing, one without a reader,
// and one with two.
func TestNew_WorksWithAnyProvider(t *testing.T) {
	first := sdkmetric.NewManualReader()
	second := sdkmetric.NewManualReader()
	for name, provider := range map[string]metric.MeterProvider{
		"NoOp":       noop.NewMeterProvider(),
		"NoReader":   sdkmetric.NewMeterProvider(),
		"TwoReaders": sdkmetric.NewMeterProvider(sdkmetric.WithReader(first), sdkmetric.WithReader(second)),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := metrics.New(provider, metrics.Options{})
			require.NoError(t, err)
			exercise(t, m)
		})
	}
	for _, reader := range []*sdkmetric.ManualReader{first, second, first} {
		assert.InDelta(t, 1, collect(t, reader)[`controller.queue.adds{controller="agentrun"}`], 0)
	}
}
