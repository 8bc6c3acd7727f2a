// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads from the environment how long Jobs, their runs and the
// logs of the runs are kept.
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

// Settings are how long a controller keeps what it has made. Zero keeps.
type Settings struct {
	// Jobs is for jobgc.Options.
	Jobs jobgc.Retention

	// RunTTL is for expire.Options: how long a finished run is kept.
	RunTTL time.Duration

	// LogTTL is how long the logs of a run are kept. No package deletes logs.
	LogTTL time.Duration
}

// LogValues returns the values for one line of a structured log, as in
// log.Info("Retention", s.LogValues()...). A value that keeps is "keep".
func (s Settings) LogValues() []any {
	return append(s.Jobs.LogValues(), "runs", orKeep(s.RunTTL), "logs", orKeep(s.LogTTL))
}

func orKeep(d time.Duration) string {
	if d == 0 {
		return "keep"
	}
	return d.String()
}

// shortRunTTL is the retention of runs below which Warnings reports it.
const shortRunTTL = time.Hour

// Warnings lists, for operators, the settings that can delete a Job, its result
// or a run early.
func (s Settings) Warnings() []string {
	out := s.Jobs.Warnings()
	if s.RunTTL > 0 && s.RunTTL < shortRunTTL {
		out = append(out, fmt.Sprintf(
			"RunTTL %s: finished runs are deleted after %s; a number without a unit is seconds, "+
				"and 30 days are 720h",
			s.RunTTL, s.RunTTL))
	}
	return out
}

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

// FromEnv reads Settings. Pass os.LookupEnv as lookup, or a function like it.
// Values are whole seconds or Go durations. Unset, empty or blank means the
// default, and 0 keeps. A value that is malformed or out of range is an error
// that names the variable and the accepted values. FromEnv returns all errors
// together. A variable with an error has its default in the Settings. With a
// nil lookup or empty names the Settings are zero.
//
//	Job TTL        600 s    30 s to 7 days; either outcome, from its record
//	run retention  30 days  a minute or more; Warnings reports less than an hour
//	log retention  7 days
func FromEnv(lookup func(name string) (value string, set bool), names EnvNames) (Settings, error) {
	if lookup == nil {
		return Settings{}, errors.New("jobgc/settings: fromEnv: lookup is nil; pass os.LookupEnv")
	}
	if names == (EnvNames{}) {
		return Settings{}, errors.New("jobgc/settings: fromEnv: names is empty; " +
			"pass JangarNames(), AgentsNames() or an EnvNames with the names of your variables")
	}
	r := reader{lookup: lookup}
	job := r.read(names.JobTTL, 10*time.Minute, 30*time.Second, 7*day)
	s := Settings{
		Jobs:   jobgc.Retention{SucceededTTL: job, FailedTTL: job},
		RunTTL: r.read(names.RunRetention, 30*day, time.Minute, longestTTL),
		LogTTL: r.read(names.LogRetention, 7*day, 1, longestTTL),
	}
	return s, errors.Join(r.errs...)
}

// reader reads durations, and keeps the errors.
type reader struct {
	lookup func(name string) (value string, set bool)
	errs   []error
}

// read returns the duration of a variable, or its default.
func (r *reader) read(name string, usual, lowest, highest time.Duration) time.Duration {
	d, err := env.Duration(r.lookup, name, usual)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("jobgc/settings: %w", err))
		return usual
	}
	accepted := d == 0 || lowest <= d && d <= highest
	if accepted {
		return d
	}
	value, _ := r.lookup(name)
	r.errs = append(r.errs, fmt.Errorf("jobgc/settings: %w", &env.Error{
		Name: name, Value: value,
		Accepted: fmt.Sprintf("0 to keep, or %s to %s, as whole seconds such as 600 or a Go duration such "+
			"as 10m; "+
			"days are hours, 30 days are 720h", lowest, highest),
	}))
	return usual
}
