// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build otlp

package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newSpans and newReader make what the standard variables ask for. The
// library reads the process's environment.
//
//nolint:ireturn // as the one without the tag
func newSpans(ctx context.Context, process *resource.Resource) (spans, error) {
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; want otlp, console or none", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(process)), nil
}

func newReader(ctx context.Context) (sdkmetric.Reader, error) {
	reader, err := autoexport.NewMetricReader(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; want otlp, console, prometheus or none", err)
	}
	return reader, nil
}
