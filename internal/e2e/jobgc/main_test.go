// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc_test tests package jobgc on a real API server, with the real
// Job, TTL, CronJob, garbage collector and namespace controllers.
//
// Only this suite proves how these controllers end and delete Jobs, what the
// API server answers to the patches of a Job, and the commands that release a
// hold. The package has the tests that need no server, and suite chaos counts
// the requests of runs.
//
// The suite needs Linux.
package jobgc_test

import (
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane has the installed example, shared by all tests. Each has a separate
// namespace.
var plane suite.Example

func TestMain(m *testing.M) {
	os.Exit(plane.Main(m, "e2e/jobgc", controlplane.Options{APIServerArgs: []string{
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
	}}))
}
