// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/proompteng/controllerkit/internal/env"
)

// Names are the variables that FromEnv reads. An empty name means the JANGAR_ one that is given with each: those are the
// names of the service that these settings come from. A controller with names of its own puts them here.
type Names struct {
	JobTTL       string // JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS
	RunRetention string // JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS
	LogRetention string // JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS

	_ struct{}
}

// AgentsNames are AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS, AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS and
// AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS.
func AgentsNames() Names {
	return Names{
		JobTTL:       "AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS",
		RunRetention: "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
		LogRetention: "AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS",
	}
}

// FromEnv reads a Retention; lookup is os.LookupEnv or the like, and an error if nil. Values are whole seconds or Go
// durations. Unset, empty or blank means the default. A malformed value is an error that names the variable and what
// it may hold, with the default in its place; all of them are reported. The names begin with JANGAR_ unless names says
// otherwise.
//
//	Job TTL        600 s    either outcome, from release; 0 keeps Jobs; brought within 30 s and 7 days
//	run retention  30 days  0 keeps runs
//	log retention  7 days   0 sets no limit
//
// Exposure tells, with what else is worth a warning, when the Job TTL is out of bounds.
func FromEnv(lookup func(name string) (value string, set bool), names Names) (Retention, error) {
	if lookup == nil {
		return Retention{}, errors.New("jobgc: fromenv: lookup is nil; pass os.LookupEnv")
	}
	var errs []error
	read := func(name, jangar string, def time.Duration) time.Duration {
		if name == "" {
			name = jangar
		}
		d, err := env.Duration(lookup, name, def)
		if err != nil {
			errs = append(errs, fmt.Errorf("jobgc: %w", err))
		}
		return d
	}
	job := read(names.JobTTL, "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS", 10*time.Minute)
	r := Retention{
		Runs: read(names.RunRetention, "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS", 30*day),
		Logs: read(names.LogRetention, "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS", 7*day),
	}
	if job > 0 {
		r.Succeeded, r.Failed = &job, &job
	}
	return r, errors.Join(errs...)
}

// KeysAndValues shows the effective values for one line of a structured log, as in log.Info("Retention",
// r.KeysAndValues()...). What is kept for good is "keep", and no backstop is "none".
func (r Retention) KeysAndValues() []any {
	return []any{
		"succeeded", r.shown(Succeeded), "failed", r.shown(Failed), "backstop", shown(r.AtCreate(), "none"),
		"runs", orKeep(r.Runs), "logs", orKeep(r.Logs),
	}
}

// String shows the effective values on one line.
func (r Retention) String() string {
	var b strings.Builder
	for i, v := range r.KeysAndValues() {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte(' ')
		default:
			b.WriteByte('=')
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

func (r Retention) shown(o Outcome) string {
	ttl, _ := r.AtRelease(o, time.Time{}, time.Time{})
	return shown(ttl, "keep")
}

func shown(ttl *int32, without string) string {
	if ttl == nil {
		return without
	}
	return (time.Duration(*ttl) * time.Second).String()
}

func orKeep(d time.Duration) string {
	if d <= 0 {
		return "keep"
	}
	return d.String()
}
