// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command metrics compares package metrics with controller-runtime's vectors,
// client_golang's precomputed children, and OpenTelemetry used directly, with
// and without care.
package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The peers' names in the table.
const (
	ctrlRuntime = "controller-runtime"
	children    = "client_golang children"
	otelSync    = "OTel precomputed"
	otelNaive   = "OTel naive"
	clientGo    = "client-go"
	fewer       = "controllerkit, 15 controllers"
)

func main() {
	bench.Main(bench.Group{
		Package: "metrics",
		Peers: []bench.Peer{
			{Name: ctrlRuntime, Module: "sigs.k8s.io/controller-runtime"},
			{Name: children, Module: "github.com/prometheus/client_golang"},
			{Name: otelSync + ", " + otelNaive, Module: "go.opentelemetry.io/otel/sdk/metric"},
			{Name: clientGo, Module: "k8s.io/client-go"},
			{Name: fewer, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: measures,
	})
}

func measures(ctx context.Context) ([]bench.Measure, error) {
	theirs, err := registered()
	if err != nil {
		return nil, err
	}
	out, err := reconciles(ctx, theirs)
	if err != nil {
		return nil, err
	}
	queues, err := queues(theirs) //nolint:contextcheck // a queue has none
	if err != nil {
		return nil, err
	}
	out = append(out, queues...)
	for _, n := range []int{10, 50} {
		out = append(out, scrapes(ctx, theirs, n)...)
	}
	out = append(out, growth(ctx))
	return append(out, kept(ctx)...), nil
}
