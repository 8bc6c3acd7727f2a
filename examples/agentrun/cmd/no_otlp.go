// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !otlp

package main

import (
	"context"
	"errors"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// errNoExporters: the exporters bring gRPC and protobuf, whose pages cost
// memory also when nothing is sent.
var errNoExporters = errors.New("this program cannot send; build it with -tags=otlp, or want none")

//nolint:ireturn // as the one of the tag otlp
func newSpans(context.Context, *resource.Resource) (spans, error) {
	return nil, errNoExporters
}

//nolint:ireturn // as the one of the tag otlp
func newReader(context.Context) (sdkmetric.Reader, error) {
	return nil, errNoExporters
}
