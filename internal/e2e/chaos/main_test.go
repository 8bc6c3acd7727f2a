// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos_test breaks the cluster around the example's controller under
// load, and checks the controller's promises: every version of every object
// keeps the contract, each run ends as its Job ended and runs once, no object
// has more Events than the cap, no secret appears anywhere, the process does
// not grow, and idle objects are not written.
//
// Only this suite proves that the packages keep all promises together under
// each fault, and that each verb of the role is needed.
//
// `make test-all` runs a short set. With -full, as in `make e2e-chaos`, the
// faults have their full length.
package chaos_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// full selects the full set.
var full = flag.Bool("full", false, "run the full set, which takes minutes")

// For TestTheControllerIsKilled: the number of kills, and the seed of their
// points.
var (
	kills = flag.Int("kills", 0, "how often to kill the controller; 0 means 200 in the full set, 10 in the short one")
	seed  = flag.Uint64("seed", 0, "the seed of the points; 0 means a new one, which is printed")
)

// either returns the value for the full set or for the short one.
func either[T any](whole, short T) T {
	if *full {
		return whole
	}
	return short
}

// The control plane, the installed example and its program, shared by all
// tests.
var (
	plane   *controlplane.ControlPlane
	program string
	kubectl rig.Kubectl
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // most of a test is waiting; a flag on the command line counts
	os.Exit(suite.Main(m, "e2e/chaos", controlplane.Options{AuditPolicy: auditPolicy, APIServerArgs: []string{
		// With this admission plugin a role needs update on finalizers.
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
