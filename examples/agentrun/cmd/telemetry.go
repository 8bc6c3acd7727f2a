// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// shutdownTimeout is how long the last spans and metrics are sent.
const shutdownTimeout = 3 * time.Second

// telemetry serves the metrics. If OpenTelemetry's standard variables ask for
// it, it also sends spans and metrics.
type telemetry struct {
	endpoint *prom.Endpoint
	spans    spans        // nil: none
	tracer   trace.Tracer // nil: none
}

// spans makes tracers and sends what they record.
type spans interface {
	trace.TracerProvider
	Shutdown(ctx context.Context) error
}

// newTelemetry makes the endpoint, and the exporters that OTEL_TRACES_EXPORTER
// and OTEL_METRICS_EXPORTER name. The endpoint also serves controller-runtime's
// metrics.
func newTelemetry(ctx context.Context, lookup func(string) (string, bool)) (*telemetry, error) {
	otel.SetErrorHandler(undelivered(ctrl.Log))
	t := new(telemetry)
	o := prom.Options{
		Gatherers: []prometheus.Gatherer{crmetrics.Registry},
		Resource:  map[string]string{"service.name": "agentrun"},
	}
	process := resource.NewSchemaless(attribute.String("service.name", "agentrun")) // as the metrics name it
	var err error
	traces, _ := lookup("OTEL_TRACES_EXPORTER")
	if traces != "" && traces != "none" {
		t.spans, err = newSpans(ctx, process)
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: %w", traces, err)
		}
		t.tracer = t.spans.Tracer("github.com/proompteng/controllerkit/examples/agentrun")
		o.Exemplars = true // an exemplar names a trace
	}
	metrics, _ := lookup("OTEL_METRICS_EXPORTER")
	if metrics != "" && metrics != "none" {
		reader, err := newReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_METRICS_EXPORTER=%s: %w", metrics, err)
		}
		o.Readers = []sdkmetric.Reader{reader}
	}
	t.endpoint, err = prom.New(o)
	return t, err
}

// undelivered logs the first error, and then one in ten minutes.
func undelivered(log logr.Logger) otel.ErrorHandlerFunc {
	logs := rate.Sometimes{First: 1, Interval: 10 * time.Minute}
	return func(err error) {
		logs.Do(func() {
			log.Error(err, "Telemetry was not delivered. The controller goes on, "+
				"and logs the next failure in ten minutes or later")
		})
	}
}

// shutdown sends the remaining spans and metrics. A collector that hangs must
// not delay the end of the process.
func (t *telemetry) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := t.endpoint.Shutdown(ctx)
	if t.spans != nil {
		err = errors.Join(err, t.spans.Shutdown(ctx))
	}
	if err != nil {
		otel.Handle(err)
	}
}
