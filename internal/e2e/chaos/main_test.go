// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos_test breaks the cluster around the example's controller, on purpose and under load, and holds what is left to its
// promises: every version of every object keeps the contract, each run ends as its Job truly ended and is run once, no object has more
// events than its cap, no secret is told anywhere, nothing piles up in the process, and what is idle is not written.
//
// make test runs a short set. With -full, as make e2e-chaos has it, every fault lasts as long as it is meant to.
package chaos_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// full is whether the whole set is run.
var full = flag.Bool("full", false, "run the whole set, minutes long")

// Of TestTheControllerIsKilled: as many times, at points that the seed decides.
var (
	kills = flag.Int("kills", 0, "how often the controller is killed; 0 means 200 in the whole set, 10 in the short one")
	seed  = flag.Uint64("seed", 0, "of the points at which it is killed; 0 means a new one, which is printed")
)

// either is a value of the whole set, or that of the short one.
func either[T any](whole, short T) T {
	if *full {
		return whole
	}
	return short
}

// The control plane, the installed example and its program, shared by all tests.
var (
	plane   *controlplane.ControlPlane
	program string
	kubectl rig.Kubectl
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // most of a test is waiting; a flag on the command line counts
	os.Exit(suite.Main(m, "e2e/chaos", controlplane.Options{AuditPolicy: auditPolicy, APIServerArgs: []string{
		// Clusters that have it on are those where a role needs update on finalizers.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
	}}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if kubectl, _, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir(), "-race")
		return err
	}))
}
