// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/proompteng/controllerkit/internal/controlplane/build"
)

// ReadyAfterAnnotation is how long a pod on a node that kwok plays takes to get
// ready, such as 4s. Without it that is 0.2 to 0.8 seconds.
const ReadyAfterAnnotation = "controlplane.controllerkit.dev/ready-after"

// stages are kwok's rules for nodes and pods. kwok has no defaults.
//
//go:embed stages.yaml
var stages []byte

//go:embed nodes.yaml
var nodes []byte

// Programs are what Start needs beyond the control plane itself, for
// build.Options.More.
func (o Options) Programs() []string {
	var more []string
	if o.Kubectl == "" {
		more = append(more, build.Kubectl)
	}
	if o.ArgoRollouts {
		more = append(more, build.Scheduler, build.Kwok, build.ArgoRollouts)
	}
	return more
}

// prepareNodes describes the scheduler, and kwok with its nodes.
func (cp *ControlPlane) prepareNodes(programs build.Binaries) error {
	for _, program := range []string{build.Scheduler, build.Kwok} {
		if err := cp.writeIdentity(program, "system:"+program, masters); err != nil {
			return err
		}
	}
	for name, content := range map[string][]byte{"stages.yaml": stages, "nodes.yaml": nodes} {
		if err := os.WriteFile(filepath.Join(cp.dir, name), content, 0o600); err != nil {
			return fmt.Errorf("controlplane: %w", err)
		}
	}
	// With pods it takes most of what all programs take. It collects rarely, but
	// near this limit. A limit of 384 took 1.6x the CPU.
	cp.APIServer.env = append(cp.APIServer.env, "GOGC=200", "GOMEMLIMIT=464MiB")
	port := cp.ports[2].number
	scheduler := cp.process(programs[build.Scheduler], port, healthy(cp.pki, port))
	cp.ControllerManager.env = append(cp.ControllerManager.env, smallHeap)
	scheduler.env = append(scheduler.env, smallHeap)
	kwok := cp.process(programs[build.Kwok], 0, cp.nodesReady)
	cp.processes = append(cp.processes, scheduler, kwok)
	return nil
}

// smallHeap is for programs that do little work: the memory that it saves costs
// almost no CPU.
const smallHeap = "GOGC=50"

// nodesReady creates the nodes where they are missing, and asks whether kwok
// has made all of them ready.
func (cp *ControlPlane) nodesReady(ctx context.Context) error {
	path := filepath.Join(cp.dir, "nodes.yaml")
	if err := cp.runKubectl(ctx, "apply", "--server-side", "-f", path); err != nil {
		return err
	}
	return cp.runKubectl(ctx, "wait", "--for=condition=Ready", "--timeout=10s", "-f", path)
}
