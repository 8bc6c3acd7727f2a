// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// The names in upstream's installation.
const (
	argoNamespace = "argo-rollouts"
	argoRole      = "argo-rollouts"
	argoUser      = "system:serviceaccount:" + argoNamespace + ":argo-rollouts"
)

// argoHealth is upstream's default. In a separate network namespace the port is
// always free.
const argoHealth = "http://" + loopback + ":8080/healthz"

var errNotAlone = errors.New("controlplane: the controller of Argo Rollouts listens on every address; " +
	"start it in a separate network namespace, see package netns")

// prepareArgoRollouts describes the nodes and the controller, whose user has no
// rights yet.
func (cp *ControlPlane) prepareArgoRollouts(programs build.Binaries) error {
	if err := cp.prepareNodes(programs); err != nil {
		return err
	}
	if err := cp.writeIdentity(build.ArgoRollouts, argoUser); err != nil {
		return err
	}
	cp.ArgoRollouts = cp.process(programs[build.ArgoRollouts], 0, answers(&rest.Config{}, argoHealth))
	cp.ArgoRollouts.env = []string{"POD_NAMESPACE=" + argoNamespace, smallHeap}
	return nil
}

// InstallArgoRollouts installs upstream's CRDs, and upstream's ClusterRole for
// the identity of the controller, which has no other rights. It does not start
// the controller: ArgoRollouts.Start does.
func (cp *ControlPlane) InstallArgoRollouts(ctx context.Context) error {
	source, err := build.ArgoRolloutsSource(ctx)
	if err != nil {
		return err
	}
	crds, err := filepath.Glob(filepath.Join(source, "manifests", "crds", "*-crd.yaml"))
	if err != nil {
		return err
	}
	if err := cp.InstallCRDs(ctx, crds...); err != nil {
		return err
	}
	role := filepath.Join(source, "manifests", "role", "argo-rollouts-clusterrole.yaml")
	for _, args := range [][]string{
		{"create", "namespace", argoNamespace},
		{"apply", "--server-side", "-f", role},
		{"create", "clusterrolebinding", "argo-rollouts", "--clusterrole=" + argoRole, "--user=" + argoUser},
	} {
		if err := cp.runKubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
