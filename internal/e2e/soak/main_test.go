// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak_test runs many AgentRuns through the example's controller while
// the API server and the controller are killed and restarted, and compares each
// outcome with the true one. `make test-all` has 40 runs and fewer faults.
// `make e2e-soak` has 10,000 runs, or the number in RUNS.
//
// Only this suite proves that no outcome is wrong or lost, and that memory does
// not grow, over many runs.
package soak_test

import (
	"context"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

var (
	plane      *controlplane.ControlPlane
	kubeconfig string // of the controller's user
	program    string
)

// auditPolicy logs each request of the controller, and each binding of a pod,
// once.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "omitManagedFields": true,
  "rules": [
    {"level": "Metadata", "users": ["` + rig.User + `"], "verbs": ["get", "create", "patch", "update", "delete"]},
    {"level": "Metadata", "users": ["system:node:` + kubelet.NodeName + `"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
    {"level": "None"}]}`

func TestMain(m *testing.M) {
	os.Exit(suite.Main(m, "e2e/soak", controlplane.Options{AuditPolicy: auditPolicy, APIServerArgs: []string{
		"--etcd-compaction-interval=1m", // ten thousand runs cause a quarter of a million writes
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
