// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command events compares package events with client-go's two recorders, and
// its redactor with a regular expression.
package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/bench/virtual"
)

func main() {
	virtual.Child(play)
	bench.Main(bench.Group{
		Package: "events",
		Peers: []bench.Peer{
			{Name: toolsRecord + ", " + toolsEvents, Module: "k8s.io/client-go"},
			{Name: oneRegexp, Module: "std"},
			{Name: oneNamespace + ", " + tenth, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: func(ctx context.Context) ([]bench.Measure, error) {
			return append(costs(ctx), promises(ctx)...), nil
		},
	})
}
