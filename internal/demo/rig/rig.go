// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig installs the example and runs its controller like a user does: as
// a process under its own role. The demo and the end-to-end tests use it.
package rig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/proompteng/controllerkit/examples/agentrun/crd"
	"github.com/proompteng/controllerkit/examples/agentrun/rbac"
	"github.com/proompteng/controllerkit/internal/controlplane"
)

// User is the identity that the installed role is bound to.
const User = "agentrun-controller"

// The programs that Build compiles: the example, and its peers on
// controller-runtime alone.
const (
	AgentRun = "github.com/proompteng/controllerkit/examples/agentrun/cmd"
	Baseline = "github.com/proompteng/controllerkit/internal/demo/baseline/cmd"
)

// Build compiles a program to a path. The working directory must be in a module
// that requires this one, or in this one.
func Build(ctx context.Context, program, path string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", path, program)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return nil
}

// Kubectl is a kubectl and the cluster it talks to. Nothing else decides which
// cluster that is.
type Kubectl struct {
	Path, Kubeconfig string
	Cache            string // a folder for what kubectl remembers of the cluster
}

// Run runs kubectl with args and stdin and returns what it prints.
func (k Kubectl) Run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	usual := []string{"--kubeconfig=" + k.Kubeconfig, "--cache-dir=" + k.Cache}
	cmd := exec.CommandContext(ctx, k.Path, append(usual, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %v: %w: %s", args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// Install applies the CRD and the role, and waits until the API server serves
// AgentRuns.
func (k Kubectl) Install(ctx context.Context) error {
	for _, manifest := range [][]byte{crd.YAML(), rbac.YAML()} {
		if _, err := k.Run(ctx, manifest, "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
	}
	const name = "crd/agentruns.agents.controllerkit.dev"
	_, err := k.Run(ctx, nil, "wait", "--for=condition=Established", "--timeout=60s", name)
	if err != nil {
		return err
	}
	return os.RemoveAll(k.Cache) // what kubectl remembers by now lacks the short name
}

// Local installs the example on a local control plane. It returns kubectl with
// all rights, and the kubeconfig file of a user with only the rights of the
// controller's role.
func Local(
	ctx context.Context, cp *controlplane.ControlPlane,
) (kubectl Kubectl, kubeconfig string, err error) {
	cache := filepath.Join(cp.Dir(), "kubectl-cache")
	kubectl = Kubectl{Path: cp.Kubectl(), Kubeconfig: cp.Kubeconfig(), Cache: cache}
	definition := filepath.Join(cp.Dir(), "agentruns-crd.yaml")
	if err := os.WriteFile(definition, crd.YAML(), 0o600); err != nil {
		return kubectl, "", err
	}
	if err := cp.InstallCRDs(ctx, definition); err != nil {
		return kubectl, "", err
	}
	if err := kubectl.Install(ctx); err != nil {
		return kubectl, "", err
	}
	user, err := cp.User(User)
	if err != nil {
		return kubectl, "", err
	}
	kubeconfig = filepath.Join(cp.Dir(), User+".kubeconfig")
	return kubectl, kubeconfig, controlplane.WriteKubeconfig(kubeconfig, user)
}
