// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events_test tests package events on a real API server.
//
// Only this suite proves that a server accepts what a Recorder writes in each
// API group, what kubectl shows of it, which permissions are needed, and how a
// server refuses. The package has the tests that need no server.
//
// The suite needs Linux.
package events_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane is the control plane of all tests that do not use old. Each test has a
// separate namespace.
var plane *controlplane.ControlPlane

// old returns a control plane whose API server does not serve events.k8s.io.
// The first call starts it.
var old func() (*controlplane.ControlPlane, error)

// update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestMain(m *testing.M) {
	var second *controlplane.ControlPlane
	code := suite.Main(m, "e2e/events", controlplane.Options{}, func(ctx context.Context, cp *controlplane.ControlPlane) error {
		plane = cp
		old = sync.OnceValues(func() (cp *controlplane.ControlPlane, err error) {
			second, err = controlplane.Start(context.WithoutCancel(ctx), controlplane.Options{
				Log: os.Stderr, APIServerArgs: []string{"--runtime-config=events.k8s.io/v1=false"},
			})
			return second, err
		})
		return nil
	})
	if second != nil {
		if code != 0 {
			second.Keep()
		}
		if err := second.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e/events:", err)
			code = 1
		}
	}
	os.Exit(code)
}
