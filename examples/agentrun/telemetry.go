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
// OpenTelemetry's standard variables configure it. Without them it creates
// nothing and costs nothing.
type telemetry struct {
	spans    *sdktrace.TracerProvider // nil: none
	readers  []sdkmetric.Reader
	resource *resource.Resource
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

// newTelemetry creates the exporters, if the program was built with -tags=otlp.
// An exporter connects when it first has something to send.
func newTelemetry(ctx context.Context, s sending) (*telemetry, error) {
	t := &telemetry{
		resource: resource.NewSchemaless(
			attribute.String("service.name", "agentrun"),
			attribute.String("service.version", version()),
		),
		failures: &failures{
			log:  logr.FromContextOrDiscard(ctx),
			logs: rate.Sometimes{First: 1, Interval: 10 * time.Minute},
		},
	}
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
	merged, err := resource.Merge(t.resource, resource.Environment())
	if err == nil {
		t.resource = merged
	}
	if s.traces != "" {
		exporter, err := newSpanExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: %w", s.traces, err)
		}
		t.spans = sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(exporter),
			sdktrace.WithResource(t.resource),
		)
	}
	if s.metrics != "" {
		reader, err := newReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_METRICS_EXPORTER=%s: %w", s.metrics, err)
		}
		t.readers = []sdkmetric.Reader{reader}
	}
	if s != (sending{}) {
		otel.SetErrorHandler(t.failures)
	}
	return t, nil
}

// tracer returns nil if spans are not enabled.
func (t *telemetry) tracer() trace.Tracer { //nolint:ireturn // what OpenTelemetry has
	if t.spans == nil {
		return nil
	}
	return t.spans.Tracer("github.com/proompteng/controllerkit/examples/agentrun")
}

// endpoint serves the metrics and passes them to the exporters. There are
// exemplars only if there are spans, because an exemplar names a trace.
func (t *telemetry) endpoint() (*prom.Endpoint, error) {
	o := prom.Options{
		Exemplars: t.spans != nil,
		Readers:   t.readers,
		Resource:  map[string]string{},
		OnError:   t.failures.Handle,
	}
	for _, a := range t.resource.Attributes() {
		o.Resource[string(a.Key)] = a.Value.String()
	}
	return prom.New(o)
}

// shutdown sends the remaining spans and metrics for at most three seconds. A
// collector that hangs must not delay the end of the process.
func (t *telemetry) shutdown(ctx context.Context, endpoint *prom.Endpoint) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	if t.spans != nil {
		wg.Go(func() { t.failures.Handle(t.spans.Shutdown(ctx)) })
	}
	wg.Go(func() { t.failures.Handle(endpoint.Shutdown(ctx)) })
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
