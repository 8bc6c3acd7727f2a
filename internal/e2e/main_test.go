// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e_test tests the packages and the example on a real API server,
// with the real Job, TTL and garbage collector controllers. Only the kubelet is
// fake.
//
// Only this suite proves the demo, the commands of the runbooks, the manifests
// for Prometheus Operator, what the schema of the example refuses, and the role
// of another project's CRD and of the service.
//
// The suite needs Linux.
package e2e_test

import (
	"flag"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane has the installed example, shared by all tests.
var plane suite.Example

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // most of a test is waiting; a flag on the command line counts
	os.Exit(plane.Main(m, "e2e", controlplane.Options{AuditPolicy: suite.AuditPolicy}))
}
