// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream_test holds package rollout against the code of Argo
// Rollouts, its validation and its arithmetic of pods. It needs no control
// plane.
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
