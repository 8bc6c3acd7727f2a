// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command status compares package status with flux's and cluster-api's patch
// helpers, controller-runtime's patch and apimachinery's conditions.
package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/status"
)

func main() {
	bench.Main(bench.Group{
		Package: "status",
		Peers: []bench.Peer{
			{Name: "apimachinery", Module: "k8s.io/apimachinery"},
			{Name: "cluster-api", Module: "sigs.k8s.io/cluster-api"},
			{Name: "controller-runtime", Module: "sigs.k8s.io/controller-runtime"},
			{Name: "flux", Module: "github.com/fluxcd/pkg/runtime"},
		},
		Measures: measures,
	})
}

func measures(ctx context.Context) ([]bench.Measure, error) {
	var out []bench.Measure
	for _, ch := range changes {
		out = append(out, commit(ctx, ch))
	}
	for _, ch := range changes {
		m, err := overHTTP(ctx, ch)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	for _, ch := range changes {
		out = append(out, commitUntyped(ctx, ch))
	}
	out = append(out, growth(ctx))
	finished := status.Stamp{ObservedGeneration: 3, StartedAt: &noon, FinishedAt: &noon}
	return append(
		out, setSame(),
		observe("nothing new", status.Facts{Progress: status.Done}, finished, "= 0"),
		observe("first start and finish", status.Facts{Progress: status.Done, StartedAt: noon.Time}, status.Stamp{}, "<= 2"),
	), nil
}
