// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status_test tests the contract of package status on a real API
// server.
//
// Only this suite proves that the server's conflicts, uids, pruning and
// defaults are as the package expects, and that the CEL rules refuse every
// breach. The package has the tests that need no server.
//
// The suite needs Linux.
package status_test

import (
	"context"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane is the control plane that all tests share. Each test has a separate
// namespace.
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
