// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rollout compares package rollout with the Go types and the validation
// of Argo Rollouts.
package main

import "github.com/proompteng/controllerkit/internal/bench"

// upstream is the peer's name in the table.
const upstream = "argo-rollouts"

func main() {
	bench.Main(bench.Group{
		Package:  "rollout",
		Peers:    []bench.Peer{{Name: upstream, Module: "github.com/argoproj/argo-rollouts"}},
		Measures: work,
	})
}
