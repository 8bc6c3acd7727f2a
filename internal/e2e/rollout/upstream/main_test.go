// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream_test compares package rollout with the code of Argo
// Rollouts. It needs no control plane.
//
// Only this suite proves that the validation and the numbers of pods are
// upstream's, for random Rollouts.
//
// The suite needs Linux.
package upstream_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// program is the oracle's.
var program string

func TestMain(m *testing.M) {
	programs, err := build.Ensure(context.Background(), build.Options{Log: os.Stderr, More: []string{build.ArgoOracle}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/rollout/upstream:", err)
		os.Exit(1)
	}
	program = programs[build.ArgoOracle]
	debug.SetGCPercent(400) // 100,000 Rollouts come and go; what lives is small
	os.Exit(m.Run())
}
