// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads the retention of package jobgc from the environment.
package settings

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/proompteng/controllerkit/internal/env"
	"github.com/proompteng/controllerkit/jobgc"
)

const (
	day        = 24 * time.Hour
	longestTTL = math.MaxInt32 * time.Second // what ttlSecondsAfterFinished can hold
)

// EnvNames are the names of the environment variables that FromEnv reads. An
// empty field has no variable: its default applies. JangarNames and AgentsNames
// return the names that proompteng's services use.
type EnvNames struct {
	JobTTL       string
	RunRetention string
	LogRetention string

	_ struct{}
}

// JangarNames are JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS,
// JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS and
// JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS.
func JangarNames() EnvNames {
	return EnvNames{
		JobTTL:       "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS",
		RunRetention: "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
		LogRetention: "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS",
	}
}

// AgentsNames are AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS,
// AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS and
// AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS.
func AgentsNames() EnvNames {
	return EnvNames{
		JobTTL:       "AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS",
		RunRetention: "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
		LogRetention: "AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS",
	}
}

// FromEnv reads a Retention. Pass os.LookupEnv as lookup, or a function like
// it. Values are whole seconds or Go durations. Unset, empty or blank means the
// default, and 0 keeps. A value that is malformed or out of range is an error
// that names the variable and the accepted values. FromEnv returns all errors
// together. A variable with an error has its default in the Retention. With a
// nil lookup or empty names the Retention is zero.
//
//	Job TTL        600 s    30 s to 7 days; either outcome, from its record
//	run retention  30 days  a minute or more; Warnings reports less than an hour
//	log retention  7 days
//
// UnrecordedTTL is 7 days.
func FromEnv(lookup func(name string) (value string, set bool), names EnvNames) (jobgc.Retention, error) {
	if lookup == nil {
		return jobgc.Retention{}, errors.New("jobgc/settings: fromEnv: lookup is nil; pass os.LookupEnv")
	}
	if names == (EnvNames{}) {
		return jobgc.Retention{}, errors.New("jobgc/settings: fromEnv: names is empty; pass JangarNames(), AgentsNames() or an EnvNames with the names of your variables")
	}
	var errs []error
	read := func(name string, def, lowest, highest time.Duration) time.Duration {
		d, err := env.Duration(lookup, name, def)
		if err == nil && d != 0 && (d < lowest || d > highest) {
			value, _ := lookup(name)
			d, err = def, &env.Error{Name: name, Value: value, Accepted: fmt.Sprintf(
				"0 to keep, or %s to %s, as whole seconds such as 600 or a Go duration such as 10m; days are hours, 30 days are 720h", lowest, highest)}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("jobgc/settings: %w", err))
		}
		return d
	}
	job := read(names.JobTTL, 10*time.Minute, 30*time.Second, 7*day)
	r := jobgc.Retention{
		SucceededTTL: job, FailedTTL: job, UnrecordedTTL: 7 * day,
		RunTTL: read(names.RunRetention, 30*day, time.Minute, longestTTL),
		LogTTL: read(names.LogRetention, 7*day, 1, longestTTL),
	}
	return r, errors.Join(errs...)
}
