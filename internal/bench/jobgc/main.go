// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Command jobgc compares package jobgc with rules of controllers for a Job that
// is missing. It runs in virtual time, on a real informer of
// client-go whose watch lags behind.
package main

import (
	"testing"

	"github.com/proompteng/controllerkit/internal/bench"
)

func main() {
	bench.Main(bench.Group{
		Package: "jobgc",
		Peers: []bench.Peer{
			{Name: "listers and informers", Module: "k8s.io/client-go"},
			{Name: tenth, Module: "github.com/proompteng/controllerkit"},
		},
		Measures: func(t *testing.T) ([]bench.Measure, error) {
			t.Helper()
			look, err := cost(t.Context())
			return []bench.Measure{look, race(t)}, err
		},
	})
}
