// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status_test holds package status to its contract on a real API server: the races, the faults, the CEL rules and eight
// writers at once. What needs no server is tested beside the package.
package status_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
)

// plane is the control plane that all tests share. Each test has a namespace of its own.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/status:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if plane, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			plane.Keep()
			fmt.Fprintln(os.Stderr, "e2e/status: the logs are kept in", plane.Dir())
		}
		if stopped := plane.Stop(); err == nil {
			err = stopped
		}
	}()
	paths, err := writeCRDs(plane.Dir())
	if err != nil {
		return 1, err
	}
	if err := plane.InstallCRDs(ctx, paths...); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
