// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/proompteng/controllerkit/metrics/prom"
)

// telemetry exports spans and metrics, in addition to the scrape endpoint.
// OpenTelemetry's standard variables configure it. Without them it exports
// nothing and costs nothing.
type telemetry struct {
	endpoint *prom.Endpoint           // serves the metrics
	spans    *sdktrace.TracerProvider // nil: none
	tracer   trace.Tracer             // nil: none
	failures *failures
}

// sending has the values of OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER that
// enable an exporter.
type sending struct{ traces, metrics string }

// fromEnv reads which exporters are enabled.
func fromEnv(lookup func(string) (string, bool)) sending {
	disabled, _ := lookup("OTEL_SDK_DISABLED")
	if disabled == "true" {
		return sending{}
	}
	traces, _ := lookup("OTEL_TRACES_EXPORTER")
	if traces == "none" {
		traces = ""
	}
	metrics, _ := lookup("OTEL_METRICS_EXPORTER")
	switch metrics {
	case "none", "prometheus": // the scrape endpoint always exists
		metrics = ""
	}
	return sending{traces: traces, metrics: metrics}
}

// newTelemetry creates the endpoint, and the exporters if the program was built
// with -tags=otlp. An exporter connects when it first has something to send.
func newTelemetry(ctx context.Context, s sending) (*telemetry, error) {
	t := &telemetry{failures: &failures{
		log:  logr.FromContextOrDiscard(ctx),
		logs: rate.Sometimes{First: 1, Interval: 10 * time.Minute},
	}}
	if s != (sending{}) {
		otel.SetErrorHandler(t.failures)
	}
	process := resource.NewSchemaless(
		attribute.String("service.name", "agentrun"),
		attribute.String("service.version", version()),
	)
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
	process, err := resource.Merge(process, resource.Environment())
	if err != nil {
		return nil, err
	}
	o := prom.Options{Resource: map[string]string{}, OnError: t.failures.Handle}
	for _, a := range process.Attributes() {
		o.Resource[string(a.Key)] = a.Value.String()
	}
	if s.traces != "" {
		exporter, err := newSpanExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: %w", s.traces, err)
		}
		t.spans = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(process))
		t.tracer = t.spans.Tracer("github.com/proompteng/controllerkit/examples/agentrun")
		o.Exemplars = true // an exemplar names a trace
	}
	if s.metrics != "" {
		reader, err := newReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_METRICS_EXPORTER=%s: %w", s.metrics, err)
		}
		o.Readers = []sdkmetric.Reader{reader}
	}
	t.endpoint, err = prom.New(o)
	return t, err
}

// shutdown sends the remaining spans and metrics for at most three seconds. A
// collector that hangs must not delay the end of the process.
func (t *telemetry) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	if t.spans != nil {
		wg.Go(func() { t.failures.Handle(t.spans.Shutdown(ctx)) })
	}
	wg.Go(func() { t.failures.Handle(t.endpoint.Shutdown(ctx)) })
	wg.Wait()
}

// failures logs failed exports and scrapes, at most one line in ten minutes.
type failures struct {
	log  logr.Logger
	logs rate.Sometimes
}

// Handle is called for each failure.
func (f *failures) Handle(err error) {
	if err == nil {
		return
	}
	f.logs.Do(func() {
		f.log.Error(err, "Telemetry was not delivered. The controller goes on, "+
			"and logs the next failure in ten minutes or later")
	})
}
