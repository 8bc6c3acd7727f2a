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
	fault fault
	kept  bool // no run asks for a Job TTL of 0
}

// String returns the name in the table.
func (l load) String() string {
	name := fmt.Sprintf("%d runs", l.runs)
	if l.kept {
		name += ", no Job TTL of 0"
	}
	switch l.fault {
	case nothing:
	case theLeader:
		name += ", the leader of two killed"
	case theAPIServer, theController:
		name += fmt.Sprintf(", %s killed %d times", l.fault, kills)
	}
	return name
}

// kills is the number of kills.
func (l load) kills() int {
	switch l.fault {
	case theLeader:
		return 1
	case theAPIServer, theController:
		return kills
	case nothing:
	}
	return 0
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
	verbs                   map[string]int
	events, silent          int // events written; failed runs without one
	jobs                    int // created
	wrong, missing, doubled int // outcomes; Jobs beyond the first of a run

	takeover time.Duration // from the leader's death to the first write of the other replica
}

// creators is the number of goroutines that create runs. Together they are
// faster than each controller.
const creators = 8

// fault names the process that is killed three times during a load.
type fault string

const (
	nothing       fault = ""
	theAPIServer  fault = "API server"
	theController fault = "controller"
	theLeader     fault = "leader" // once, because one of two replicas remains
)

const kills = 3
