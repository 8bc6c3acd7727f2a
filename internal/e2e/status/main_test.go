// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status_test holds package status to its contract on a real API server: the races, the faults, the CEL rules and eight
// writers at once. What needs no server is tested beside the package.
package status_test

import (
	"context"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane is the control plane that all tests share. Each test has a namespace of its own.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, "e2e/status", controlplane.Options{}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		paths, err := writeCRDs(plane.Dir())
		if err != nil {
			return err
		}
		return plane.InstallCRDs(ctx, paths...)
	}))
}
