// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/internal/demo/play"
)

// load is the work for a controller, and the fault during it.
type load struct {
	runs  int
	name  string // what the table adds to the number of runs
	kept  bool   // no run asks for a Job TTL of 0
	fault fault
	kills int
	all   bool // also the careful controller that trusts its cache
}

// fault names the process that is killed during a load.
type fault string

const (
	nothing       fault = ""
	theAPIServer  fault = "API server"
	theController fault = "controller"
	theLeader     fault = "leader" // once, because one of two replicas remains
)

// loads are the measured loads.
func loads(runs int) []load {
	return []load{
		{runs: runs, all: true},
		{runs: runs, name: ", no Job TTL of 0", kept: true},
		{runs: runs, name: ", API server killed 3 times", fault: theAPIServer, kills: 3},
		{runs: runs, name: ", controller killed 3 times", fault: theController, kills: 3, all: true},
		{runs: runs, name: ", the leader of two killed", fault: theLeader, kills: 1},
	}
}

// String returns the name in the table.
func (l load) String() string { return fmt.Sprintf("%d runs%s", l.runs, l.name) }

// eventsWithin is how long after the end of the runs their Events may come.
// Recorders repeat a write that failed after 10 seconds and more.
func (l load) eventsWithin() time.Duration {
	if l.fault == theAPIServer {
		return 20 * time.Second
	}
	return 10 * time.Second
}

// story returns the i-th run of a load.
func (l load) story(i int) *v1alpha1.AgentRun {
	run := play.NewLoad("run", i)
	if l.kept {
		run.Spec.JobTTLSecondsAfterFinished = nil
	}
	return run
}

// account has the numbers of a load.
type account struct {
	cost

	finished                time.Duration
	requests, writes        int // writes but of the lease
	silent                  int // failed runs without an Event
	jobs                    int // created
	wrong, missing, doubled int // outcomes; Jobs beyond the first of a run

	takeover time.Duration // from the leader's death to the first write of the other replica
}

// creators is the number of goroutines that create runs. Together they are
// faster than each controller.
const creators = 8
