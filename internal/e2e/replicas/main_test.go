// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas_test runs several replicas of the example's controller:
// shards that are all active, and a leader with a standby. It counts with the
// API server's audit log, so it finds every run that ended twice or had two
// pods.
//
// Only this suite proves the guarantees of sharding, and the time of a takeover
// between processes.
package replicas_test

import (
	"context"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// The control plane, with the example installed, and its program.
var (
	plane   *controlplane.ControlPlane
	program string
)

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, "e2e/replicas", controlplane.Options{AuditPolicy: auditPolicy}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if _, _, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir(), "-race")
		return err
	}))
}
