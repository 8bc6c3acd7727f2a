// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command metrics compares package metrics with client_golang's precomputed
// children, which are the cheapest that there is, and with client-go's queue.
package main

import (
	"testing"

	"github.com/proompteng/controllerkit/internal/bench"
)

// The peers' names in the table.
const (
	children = "client_golang children"
	clientGo = "client-go, no metrics"
	fewer    = "controllerkit, 15 controllers"
)

// usual is the limit of a usual call: twice the peer, or 50 µs.
const usual = "<= 2x or 50000"

func main() {
	bench.Main(bench.Group{
		Package: "metrics",
		Peers: []bench.Peer{
			{Name: children, Module: "github.com/prometheus/client_golang"},
			{Name: clientGo, Module: "k8s.io/client-go"},
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
	items, err := items()
	if err != nil {
		return nil, err
	}
	growth, err := growth(ctx)
	reconcile := bench.Measure{
		Name:  "reconcile",
		Ours:  ours,
		Peers: []bench.Subject{counting()},
		Gates: []bench.Gate{{Unit: bench.Nanos, Peer: children, Limit: usual}},
	}
	return []bench.Measure{reconcile, items, growth}, err
}
