// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak_test runs many AgentRuns through the example's controller while the API server and the controller are killed and started
// again, and holds every run to its true outcome. `make e2e` does it with 40 runs and fewer faults; `make e2e-soak` with 10,000, or as many as RUNS says.
package soak_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/proompteng/controllerkit/examples/agentrun/rig"
	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/controlplane/kubelet"
)

var (
	plane      *controlplane.ControlPlane
	kubeconfig string // of the controller's own identity
	program    string
	auditLog   string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/soak:", err)
		code = 1
	}
	os.Exit(code)
}

// auditPolicy has the server note, each once, the requests of the controller, and the pods that get a node.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "omitManagedFields": true,
  "rules": [
    {"level": "Metadata", "users": ["` + rig.User + `"], "verbs": ["get", "create", "patch", "update", "delete"]},
    {"level": "Metadata", "users": ["system:node:` + kubelet.NodeName + `"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
    {"level": "None"}]}`

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	audit, err := os.MkdirTemp("", "audit-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(audit) }()
	policy := filepath.Join(audit, "policy.json")
	auditLog = filepath.Join(audit, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return 1, err
	}
	if plane, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, APIServerArgs: []string{
		"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog,
		"--etcd-compaction-interval=1m", // ten thousand runs are written a quarter of a million times
		"--event-ttl=5m",
	}}); err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			plane.Keep()
			fmt.Fprintln(os.Stderr, "e2e/soak: the logs are kept in", plane.Dir())
		}
		if stopped := plane.Stop(); err == nil {
			err = stopped
		}
	}()
	if _, kubeconfig, err = rig.Local(ctx, plane); err != nil {
		return 1, err
	}
	if program, err = rig.Build(ctx, plane.Dir()); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
