// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command status compares package status with flux's and cluster-api's patch
// helpers and with controller-runtime's patch.
package main

import (
	"testing"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	bench.Main(bench.Group{
		Package: "status",
		Peers: []bench.Peer{
			{Name: "cluster-api", Module: "sigs.k8s.io/cluster-api"},
			{Name: "controller-runtime", Module: "sigs.k8s.io/controller-runtime"},
			{Name: "flux", Module: "github.com/fluxcd/pkg/runtime"},
			{Name: tenth, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: measures,
	})
}

func measures(t *testing.T) ([]bench.Measure, error) {
	t.Helper()
	ctx := t.Context()
	var out []bench.Measure
	for _, ch := range changes {
		m, err := commit(ctx, ch)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	grown, err := growth(ctx)
	return append(out, grown), err
}
