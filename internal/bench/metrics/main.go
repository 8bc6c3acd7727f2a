// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command metrics compares package metrics with client_golang's precomputed
// children, which are the cheapest that there is, and its page with the one of
// OpenTelemetry's exporter.
package main

import (
	"testing"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The peers' names in the table.
const (
	children = "client_golang children"
	exporter = "OpenTelemetry's exporter"
	fewer    = "controllerkit, 15 controllers"
)

func main() {
	bench.Main(bench.Group{
		Package: "metrics",
		Peers: []bench.Peer{
			{Name: children, Module: "github.com/prometheus/client_golang"},
			{Name: exporter, Module: "go.opentelemetry.io/otel/exporters/prometheus"},
			{Name: fewer, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: measures,
	})
}

func measures(t *testing.T) ([]bench.Measure, error) {
	t.Helper()
	ctx := t.Context()
	ours, err := reconciling(ctx)
	if err != nil {
		return nil, err
	}
	wrapped, err := wrapped(ctx)
	if err != nil {
		return nil, err
	}
	growth, err := growth(ctx)
	reconcile := bench.Measure{
		Name:  "reconcile",
		Ours:  ours,
		Peers: []bench.Subject{counting()},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: children, Limit: "<= 2x or 50000"}},
	}
	return []bench.Measure{reconcile, wrapped, growth}, err
}
