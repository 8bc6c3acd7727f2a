// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/jobgc"
	"github.com/proompteng/controllerkit/jobgc/settings"
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

//req:shows J1
func TestFromEnv(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    variables
		names  settings.EnvNames
		want   string
	}{
		"Unset":       {"The defaults.", nil, settings.JangarNames(), "succeeded=10m0s failed=10m0s runs=720h0m0s logs=168h0m0s"},
		"Blank":       {"Helm renders an unset value as an empty string.", variables{jobTTL: "", runTTL: " "}, settings.JangarNames(), "succeeded=10m0s failed=10m0s runs=720h0m0s logs=168h0m0s"},
		"Zero":        {"0 keeps, and is neither the default nor the shortest.", variables{jobTTL: "0", runTTL: "0", logTTL: "0"}, settings.JangarNames(), "succeeded=keep failed=keep runs=keep logs=keep"},
		"Seconds":     {"As ever.", variables{jobTTL: "7200", runTTL: "604800", logTTL: "60"}, settings.JangarNames(), "succeeded=2h0m0s failed=2h0m0s runs=168h0m0s logs=1m0s"},
		"GoDurations": {"10m is ten minutes, not ten seconds.", variables{jobTTL: "10m", runTTL: "720h"}, settings.JangarNames(), "succeeded=10m0s failed=10m0s runs=720h0m0s logs=168h0m0s"},
		"Bounds": {
			"Valid values are used unchanged.",
			variables{jobTTL: "30", runTTL: "60", logTTL: "9000h"},
			settings.JangarNames(),
			"succeeded=30s failed=30s runs=1m0s logs=9000h0m0s",
		},
		"AgentsNames": {
			"The other generation, and only that.",
			variables{jobTTL: "1h", "AGENTS_AGENT_RUNNER_JOB_TTL_SECONDS": "2h", "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "3h", "AGENTS_AGENT_RUNNER_LOG_RETENTION_SECONDS": "4h"},
			settings.AgentsNames(), "succeeded=2h0m0s failed=2h0m0s runs=3h0m0s logs=4h0m0s",
		},
		"OneNameOfMany": {
			"A field without a name keeps its default.",
			variables{"TTL": "1h", jobTTL: "2h", runTTL: "3h"},
			settings.EnvNames{JobTTL: "TTL"},
			"succeeded=1h0m0s failed=1h0m0s runs=720h0m0s logs=168h0m0s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settings.FromEnv(tc.env.lookup, tc.names)
			require.NoError(t, err, tc.reason)
			assert.Equal(t, tc.want, shown(got), tc.reason)
		})
	}
}

// The values that a service of today accepts and gets wrong.
//
//req:shows J1
func TestFromEnvRefuses(t *testing.T) {
	for _, v := range []string{"30d", "abc", "-1", "1e3", "1.5", "-10m", "600s!", "99999999999999999999"} {
		for _, name := range []string{jobTTL, runTTL, logTTL} {
			got, err := settings.FromEnv(variables{name: v}.lookup, settings.JangarNames())
			require.ErrorContains(t, err, name, v)
			require.ErrorContains(t, err, "10m", "the error names the accepted values")
			assert.Contains(t, shown(got), "succeeded=10m0s", "nothing is guessed")
		}
	}
	_, err := settings.FromEnv(variables{jobTTL: "x", logTTL: "y"}.lookup, settings.JangarNames())
	require.ErrorContains(t, err, jobTTL)
	require.ErrorContains(t, err, logTTL, "one error reports all mistakes")
	_, err = settings.FromEnv(variables{}.lookup, settings.EnvNames{})
	require.ErrorContains(t, err, "names is empty; pass JangarNames(), AgentsNames() or an EnvNames", "no set is anybody's by accident")
	_, err = settings.FromEnv(nil, settings.JangarNames())
	require.ErrorContains(t, err, "lookup is nil; pass os.LookupEnv")
}

// What is out of range is an error, and never cut.
//
//req:shows J1
func TestFromEnvRefusesWhatIsOutOfRange(t *testing.T) {
	for name, values := range map[string][]string{jobTTL: {"29", "1", "604801", "8760h"}, runTTL: {"30", "59s"}} {
		for _, v := range values {
			got, err := settings.FromEnv(variables{name: v}.lookup, settings.JangarNames())
			require.ErrorContains(t, err, name+": \""+v+"\" is not accepted; want 0 to keep, or ")
			require.ErrorContains(t, err, "30 days are 720h", "a 30 may be meant as days")
			assert.Contains(t, shown(got), "succeeded=10m0s failed=10m0s runs=720h0m0s", "nothing is guessed")
		}
	}
}

// Go durations have no unit for days.
func TestFromEnvHintsAtDays(t *testing.T) {
	_, err := settings.FromEnv(variables{runTTL: "7d"}.lookup, settings.JangarNames())
	require.ErrorContains(t, err, "7d is 168h")
}

//req:shows J1
func TestLogValues(t *testing.T) {
	got := settings.Settings{Jobs: jobgc.Retention{SucceededTTL: time.Minute}}.LogValues()
	assert.Equal(t, []any{"succeeded", "1m0s", "failed", "keep", "runs", "keep", "logs", "keep"}, got)
}

// shown are Settings on one line.
func shown(r settings.Settings) string {
	var out []string
	values := r.LogValues()
	for i := 0; i < len(values); i += 2 {
		out = append(out, fmt.Sprintf("%v=%v", values[i], values[i+1]))
	}
	return strings.Join(out, " ")
}

func TestWarnings(t *testing.T) {
	assert.Empty(t, settings.Settings{RunTTL: time.Hour}.Warnings())
	short := settings.Settings{Jobs: jobgc.Retention{FailedTTL: time.Minute}, RunTTL: 5 * time.Minute}.Warnings()
	require.Len(t, short, 2)
	assert.Contains(t, short[0], "Retention.FailedTTL 1m0s")
	assert.Contains(t, short[1], "30 days are 720h", "the number may have been meant as days")
}
