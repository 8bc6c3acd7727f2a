// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobgc_test tests package jobgc on a real API server, with the real
// Job, garbage collector and namespace controllers.
//
// Only this suite proves that a held Job goes with its owner, what the API
// server answers to the patches of a Job, and what its 404 says. The package
// has the tests that need no server, and suite chaos has whole runs.
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
	os.Exit(plane.Main(m, "e2e/jobgc", controlplane.Options{}))
}
