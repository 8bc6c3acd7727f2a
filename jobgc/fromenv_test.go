// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc"
)

const (
	jobTTL = "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"
	runTTL = "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS"
	logTTL = "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS"
)

type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	s, ok := v[name]
	return s, ok
}

func TestFromEnv(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    variables
		names  jobgc.Names
		want   string
	}{
		"Unset":       {"The defaults.", nil, jobgc.Names{}, "succeeded=10m0s failed=10m0s backstop=168h0m0s runs=720h0m0s logs=168h0m0s"},
		"Blank":       {"Helm renders an unset value as an empty string.", variables{jobTTL: "", runTTL: " "}, jobgc.Names{}, "succeeded=10m0s failed=10m0s backstop=168h0m0s runs=720h0m0s logs=168h0m0s"},
		"Zero":        {"0 keeps, and is neither the default nor the shortest.", variables{jobTTL: "0", runTTL: "0", logTTL: "0"}, jobgc.Names{}, "succeeded=keep failed=keep backstop=168h0m0s runs=keep logs=keep"},
		"Seconds":     {"As ever.", variables{jobTTL: "7200", runTTL: "604800", logTTL: "60"}, jobgc.Names{}, "succeeded=2h0m0s failed=2h0m0s backstop=168h0m0s runs=168h0m0s logs=1m0s"},
		"GoDurations": {"10m is ten minutes, not ten seconds.", variables{jobTTL: "10m", runTTL: "720h"}, jobgc.Names{}, "succeeded=10m0s failed=10m0s backstop=168h0m0s runs=720h0m0s logs=168h0m0s"},
		"BelowFloor":  {"Raised.", variables{jobTTL: "29"}, jobgc.Names{}, "succeeded=30s failed=30s backstop=168h0m0s runs=720h0m0s logs=168h0m0s"},
		"AboveCeiling": {
			"Only the Job TTL is lowered.",
			variables{jobTTL: "604801", runTTL: "2h", logTTL: "9000h"},
			jobgc.Names{},
			"succeeded=168h0m0s failed=168h0m0s backstop=168h0m0s runs=2h0m0s logs=9000h0m0s",
		},
		"OneSecondRuns": {"Nor is that of runs raised.", variables{runTTL: "1"}, jobgc.Names{}, "succeeded=10m0s failed=10m0s backstop=168h0m0s runs=1s logs=168h0m0s"},
		"AgentsNames": {
			"The other generation, and only that.",
			variables{jobTTL: "1h", "AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS": "2h", "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "3h", "AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS": "4h"},
			jobgc.AgentsNames(), "succeeded=2h0m0s failed=2h0m0s backstop=168h0m0s runs=3h0m0s logs=4h0m0s",
		},
		"OneNameOfMany": {
			"A name that is left empty is the usual one.",
			variables{"TTL": "1h", jobTTL: "2h", runTTL: "3h"},
			jobgc.Names{JobTTL: "TTL"},
			"succeeded=1h0m0s failed=1h0m0s backstop=168h0m0s runs=3h0m0s logs=168h0m0s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := jobgc.FromEnv(tc.env.lookup, tc.names)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, got.String(), tc.reason)
		})
	}
}

// The values that a service of today accepts and gets wrong.
func TestFromEnvRefuses(t *testing.T) {
	for _, v := range []string{"30d", "abc", "-1", "1e3", "1.5", "-10m", "600s!", "99999999999999999999"} {
		for _, name := range []string{jobTTL, runTTL, logTTL} {
			got, err := jobgc.FromEnv(variables{name: v}.lookup, jobgc.Names{})
			require.ErrorContains(t, err, name, v)
			require.ErrorContains(t, err, "10m", "it says what is accepted")
			assert.Contains(t, got.String(), "succeeded=10m0s", "nothing is guessed")
		}
	}
	_, err := jobgc.FromEnv(variables{jobTTL: "x", logTTL: "y"}.lookup, jobgc.Names{})
	require.ErrorContains(t, err, jobTTL)
	require.ErrorContains(t, err, logTTL, "all mistakes at once")
	_, err = jobgc.FromEnv(nil, jobgc.Names{})
	require.ErrorContains(t, err, "lookup is nil; pass os.LookupEnv")
}

func TestFromEnvReportsTheClamp(t *testing.T) {
	got, err := jobgc.FromEnv(variables{jobTTL: "5"}.lookup, jobgc.Names{})
	require.NoError(t, err)
	require.Len(t, got.Exposure(nil), 2)
	assert.Contains(t, got.Exposure(nil)[0], "5s")
	assert.Contains(t, got.Exposure(nil)[0], "30s")
	_, clamped := got.AtRelease(jobgc.Failed, time.Time{}, time.Time{})
	assert.True(t, clamped)
}

func TestKeysAndValues(t *testing.T) {
	got := jobgc.Retention{Succeeded: new(time.Minute), Backstop: -1}.KeysAndValues()
	assert.Equal(t, []any{"succeeded", "1m0s", "failed", "keep", "backstop", "none", "runs", "keep", "logs", "keep"}, got)
}
