// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command events compares package events with client-go's two recorders.
package main

import (
	"testing"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	bench.Main(bench.Group{
		Package: "events",
		Peers: []bench.Peer{
			{Name: toolsRecord + ", " + toolsEvents, Module: "k8s.io/client-go"},
			{Name: oneNamespace + ", " + tenth, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: func(t *testing.T) ([]bench.Measure, error) {
			t.Helper()
			return append(costs(t.Context()), promises(t)...), nil
		},
	})
}
