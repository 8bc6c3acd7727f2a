// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command events compares package events with client-go's two recorders, with
// karpenter's use of the older and controller-runtime's use of the newer one,
// and its redactor with a regular expression.
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
