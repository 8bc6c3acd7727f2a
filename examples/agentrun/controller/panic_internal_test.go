// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// panicking is a connection whose code has a bug.
type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) {
	panic("the token is hunter2")
}

// TestAPanic_CostsTheAttempt: the process goes on, and the run is tried again.
func TestAPanic_CostsTheAttempt(t *testing.T) {
	run := newRun("nightly", "uid-1")
	s := newServer(run)
	reader := sdkmetric.NewManualReader()
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	c := s.controllerOn(t, panicking{}, Options{})
	var lines string
	log := funcr.New(func(_, line string) { lines += line }, funcr.Options{})
	c.process(logr.NewContext(t.Context(), log), keyOf(run))
	assert.Equal(t, 1, c.queue.NumRequeues(keyOf(run)), "it is tried again, after a pause")
	assert.Contains(t, lines, `"error"="the reconcile panicked with a string"`)
	assert.Contains(t, lines, "RoundTrip", "the stack says where")
	assert.NotContains(t, lines, "hunter2", "the value of a panic may hold anything")

	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	results := map[string]int64{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range sum.DataPoints {
				result, _ := p.Attributes.Value("result")
				results[m.Name+" "+result.AsString()] += p.Value
			}
		}
	}
	assert.EqualValues(t, 1, results["controller.reconciles panic"], results)
}
