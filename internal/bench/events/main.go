// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command events measures package events beside client-go's two recorders, karpenter's way to use the older and
// controller-runtime's to use the newer, and its redactor beside a regular expression.
package main

import (
	"context"

	"github.com/proompteng/controllerkit/internal/bench"
	"github.com/proompteng/controllerkit/internal/bench/virtual"
)

func main() {
	virtual.Child(play)
	ctx := context.Background()
	bench.Main(bench.Group{
		Package: "events",
		Peers: []bench.Peer{
			{Name: toolsRecord + ", " + toolsEvents + ", " + karpenter, Module: "k8s.io/client-go"},
			{Name: ctrlRuntime, Module: "sigs.k8s.io/controller-runtime"},
			{Name: oneRegexp, Module: "std"},
		},
		Measures: append(costs(ctx), promises(ctx)...),
	})
}
