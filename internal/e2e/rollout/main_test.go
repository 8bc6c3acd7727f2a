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
	"github.com/proompteng/controllerkit/internal/e2e/suite"
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
		ArgoRollouts: true, AuditPolicy: auditPolicy,
		ControllerManagerArgs: []string{
			"--controllers=deployment-controller,replicaset-controller,endpointslice-controller,horizontal-pod-autoscaler-controller",
			"--horizontal-pod-autoscaler-sync-period=1s",
		},
	}
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/rollout:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	command = os.Getenv(commandVariable)
	if command == "" {
		dir, err := os.MkdirTemp("", "e2e-rollout-")
		if err != nil {
			return 1, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		command = filepath.Join(dir, "rollout")
		if err := prepare(context.Background()); err != nil {
			return 1, err
		}
		if !netns.Alone() { // a machine with a network
			return netns.Again(context.Background())
		}
	}
	if err := netns.Up(); err != nil {
		return 1, err
	}
	return suite.Main(m, "e2e/rollout", options(), func(_ context.Context, cp *controlplane.ControlPlane) error {
		plane = cp
		// Most of the time a test waits for a controller. -parallel of the
		// command line wins.
		err := flag.Set("test.parallel", "8")
		flag.Parse()
		return err
	}), nil
}

// prepare builds what is not yet built, which may need the network.
func prepare(ctx context.Context) error {
	if _, err := build.Ensure(ctx, build.Options{Log: os.Stderr, More: options().Programs()}); err != nil {
		return err
	}
	if _, err := build.ArgoRolloutsSource(ctx); err != nil { // the CRDs
		return err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", command, "github.com/proompteng/controllerkit/examples/rollout").CombinedOutput(); err != nil {
		return fmt.Errorf("examples/rollout: %w: %s", err, out)
	}
	return os.Setenv(commandVariable, command)
}
