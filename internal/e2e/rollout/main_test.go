// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout_test tests package rollout and its plans on the real
// controller of Argo Rollouts, with upstream's ClusterRole and CRDs. Only the
// pods and nodes are kwok's.
//
// Only this suite proves that the steps of a plan lose no capacity, and that
// upstream's controller accepts what the package renders.
//
// It runs in a separate network namespace, because that controller listens on
// every address.
//
// The suite needs Linux.
package rollout_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/build"
	"github.com/proompteng/controllerkit/internal/controlplane/netns"
)

// The control plane and the command of examples/rollout, shared by all tests.
var (
	plane   *controlplane.ControlPlane
	command string
)

// commandVariable tells the suite within the namespace where the command is,
// which was built outside of it.
const commandVariable = "CONTROLLERKIT_E2E_ROLLOUT"

func options() controlplane.Options {
	return controlplane.Options{
		Log: os.Stderr, Nodes: 3, ArgoRollouts: true, AuditPolicy: auditPolicy,
		Controllers: []string{
			"deployment-controller", "replicaset-controller", "endpointslice-controller", "horizontal-pod-autoscaler-controller",
		},
		ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=1s"},
	}
}

func TestMain(m *testing.M) {
	code, err := outside(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/rollout:", err)
		code = 1
	}
	os.Exit(code)
}

// outside builds what is not yet built, which may need the network, and goes
// inside.
func outside(m *testing.M) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if command = os.Getenv(commandVariable); command != "" {
		return inside(ctx, m)
	}
	if _, err := build.Ensure(ctx, build.Options{Log: os.Stderr, More: options().Programs()}); err != nil {
		return 1, err
	}
	if _, err := build.ArgoRolloutsSource(ctx); err != nil { // the CRDs
		return 1, err
	}
	dir, err := os.MkdirTemp("", "e2e-rollout-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	command = filepath.Join(dir, "rollout")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", command, "github.com/proompteng/controllerkit/examples/rollout").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("examples/rollout: %w: %s", err, out)
	}
	if err := os.Setenv(commandVariable, command); err != nil {
		return 1, err
	}
	if netns.Alone() { // a machine without any network
		return inside(ctx, m)
	}
	return netns.Again(ctx)
}

func inside(ctx context.Context, m *testing.M) (code int, err error) {
	if err := netns.Up(); err != nil {
		return 1, err
	}
	if plane, err = controlplane.Start(ctx, options()); err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			plane.Keep()
		}
		if stopped := plane.Stop(); err == nil {
			err = stopped
		}
	}()
	// Most of the time a test waits for a controller.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 1, err
	}
	flag.Parse() // -parallel of the command line wins
	code = m.Run()
	if all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""; all && code == 0 {
		rights, err := notNeeded()
		if err != nil {
			return 1, err
		}
		if len(rights) > 0 {
			return 1, fmt.Errorf("rollout/plan documents rights that no plan made use of: %q", rights)
		}
	}
	return code, nil
}
