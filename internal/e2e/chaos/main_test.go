// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos_test breaks the cluster around the example's controller under
// load, and checks the controller's promises: every version of every object
// keeps the contract, each run ends as its Job ended and runs once, no secret
// appears anywhere, the process does not grow, and idle objects are not
// written.
//
// Only this suite proves that the packages keep all promises together under
// each fault, that no outcome is wrong or lost over many runs, and that each
// verb of the role is needed.
//
// `make test-all` runs a short set. With -table, as in `make faults`, the faults
// have their full length. That command runs the tests that break the servers in
// another process, because a dead watch takes eleven minutes.
//
// The suite needs Linux.
package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/proompteng/controllerkit/internal/controlplane"
	"github.com/proompteng/controllerkit/internal/e2e/suite"
)

// count is the number of runs of TestRunsUnderKills.
var count = flag.Int("runs", 0, "the number of runs of TestRunsUnderKills; 0 means 400 in the full set, 40 in the short one")

// tableFile is where the faults and their costs are written.
var tableFile = flag.String("table", "", "run the full set, which takes minutes, and add the faults to the table in this file")

// either returns the value for the full set or for the short one.
func either[T any](whole, short T) T {
	if *tableFile != "" {
		return whole
	}
	return short
}

// race is the flag that builds the program with the race detector, as the tests
// are built, except for large numbers, which it would make too slow.
func race() string {
	if *count != 0 {
		return "-race=false"
	}
	return suite.RaceFlag()
}

// plane has the installed example, shared by all tests.
var plane suite.Example

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // most of a test is waiting; a flag on the command line counts
	flag.Parse()
	if *tableFile != "" {
		err := beginTable()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(plane.Main(m, "e2e/chaos", controlplane.Options{AuditPolicy: suite.AuditPolicy, APIServerArgs: []string{
		// With this admission plugin a role needs update on finalizers.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--etcd-compaction-interval=1m", // ten thousand runs cause a quarter of a million writes
		"--event-ttl=5m",
	}}, race()))
}
