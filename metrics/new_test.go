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

// TestNew_Refuses what cannot record, and says what to do.
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
		"Refused":      {"New returns the provider's error for an instrument.", refusing{}, errRefused, "create instruments"},
		"NoCallback":   {"New returns the provider's error for the callback.", refusing{callbacks: true}, errRefused, "register"},
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
