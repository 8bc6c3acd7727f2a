// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command jobgc compares package jobgc with rules of controllers for a Job that
// is missing. It runs in virtual time, on a real informer of
// client-go whose watch lags behind.
package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/bench/virtual"
)

func main() {
	virtual.Child(play)
	bench.Main(bench.Group{
		Package: "jobgc",
		Peers: []bench.Peer{
			{Name: "listers and informers", Module: "k8s.io/client-go"},
			{Name: tenth, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: func(ctx context.Context) ([]bench.Measure, error) {
			measures, err := costs(ctx)
			return append(measures, races(ctx)...), err
		},
	})
}
