// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas_test runs several replicas of the example's controller:
// shards that are all active, and a leader with a standby. It counts with the
// API server's audit log, so it finds every run that ended twice or had two
// pods.
//
// Only this suite proves the guarantees of sharding and of a takeover between
// processes, and how a process ends that has lost its lease.
//
// The suite needs Linux.
package replicas_test

import (
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// plane has the installed example, shared by all tests.
var plane suite.Example

func TestMain(m *testing.M) {
	os.Exit(plane.Main(m, "e2e/replicas", controlplane.Options{AuditPolicy: suite.AuditPolicy}))
}
