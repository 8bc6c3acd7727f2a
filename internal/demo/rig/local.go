// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"os"
	"path/filepath"

	"github.com/proompteng/controllerkit/examples/agentrun/crd"
	"github.com/proompteng/controllerkit/internal/controlplane"
)

// Local installs the example on a local control plane. It returns kubectl with
// all rights, and the kubeconfig file of a user with only the rights of the
// controller's role.
func Local(ctx context.Context, cp *controlplane.ControlPlane) (kubectl Kubectl, kubeconfig string, err error) {
	kubectl = Kubectl{Path: cp.Kubectl(), Kubeconfig: cp.Kubeconfig(), Cache: filepath.Join(cp.Dir(), "kubectl-cache")}
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
