// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc_test tests package jobgc on a real API server, with the real
// Job, TTL, CronJob, garbage collector and namespace controllers. Restarts kill
// processes, and a slow cache has a watch that is delayed on the wire.
//
// Only this suite proves how these controllers delete Jobs, the number of
// requests of a run, that replicas which are killed lose no result, and the
// commands that release a hold. The package has the tests that need no server.
package jobgc_test

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/demo/rig"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// The control plane that all tests share. Each test has a separate namespace.
var (
	plane      *controlplane.ControlPlane
	kubectl    rig.Kubectl
	kubeconfig string // of the example's identity
	program    string // the example
)

// auditPolicy has the server note the requests of the example, each once.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
  "rules": [{"level": "Metadata", "users": ["` + rig.User + `"]}, {"level": "None"}]}`

func TestMain(m *testing.M) {
	if worker := os.Getenv(workerVariable); worker != "" {
		os.Exit(workerMain(worker))
	}
	os.Exit(suite.Main(m, "e2e/jobgc", controlplane.Options{AuditPolicy: auditPolicy, APIServerArgs: []string{
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
	}}, func(ctx context.Context, cp *controlplane.ControlPlane) (err error) {
		plane = cp
		if kubectl, kubeconfig, err = rig.Local(ctx, plane); err != nil {
			return err
		}
		program, err = rig.Build(ctx, plane.Dir(), raceDetector()...)
		return err
	}))
}

// raceDetector is in the programs but for the large numbers, which it would
// make too slow.
func raceDetector() []string {
	if os.Getenv("E2E_JOBS") != "" {
		return nil
	}
	return []string{"-race"}
}

// jobsOf is the number of Jobs for a gate: E2E_JOBS if it is set, as in `make
// e2e-soak`, and otherwise a number that each run of the tests can afford.
func jobsOf(t *testing.T, affordable int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("E2E_JOBS"), strconv.Itoa(affordable)))
	require.NoError(t, err, "E2E_JOBS")
	return n
}
