// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak_test runs many AgentRuns through the example's controller while the API server and the controller are killed and started
// again, and holds every run to its true outcome. `make e2e` does it with 40 runs and fewer faults; `make e2e-soak` with 10,000, or as
// many as RUNS says.
package soak_test

import (
	"context"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

var (
	plane      *controlplane.ControlPlane
	kubeconfig string // of the controller's own identity
	program    string
)

// auditPolicy has the server note, each once, the requests of the controller, and the pods that get a node.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "omitManagedFields": true,
  "rules": [
    {"level": "Metadata", "users": ["` + rig.User + `"], "verbs": ["get", "create", "patch", "update", "delete"]},
    {"level": "Metadata", "users": ["system:node:` + kubelet.NodeName + `"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
    {"level": "None"}]}`

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, "e2e/soak", controlplane.Options{AuditPolicy: auditPolicy, APIServerArgs: []string{
		"--etcd-compaction-interval=1m", // ten thousand runs are written a quarter of a million times
		"--event-ttl=5m",
	}}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if _, kubeconfig, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir())
		return err
	}))
}
