// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"

	"github.com/proompteng/controllerkit/jobgc/settings"
)

// Settings are read once, shown, and used.
func ExampleFromEnv() {
	env := map[string]string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "30m", "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "120"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok } // os.LookupEnv
	keep, err := settings.FromEnv(lookup, settings.JangarNames())
	fmt.Println(keep.Jobs.SucceededTTL, keep.RunTTL, err)
	fmt.Println(keep.Warnings()[0])
	env["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] = "30d"
	_, err = settings.FromEnv(lookup, settings.JangarNames())
	fmt.Println(err)
	env["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] = "10"
	_, err = settings.FromEnv(lookup, settings.JangarNames())
	fmt.Println(err)
	// Output:
	// 30m0s 2m0s <nil>
	// RunTTL 2m0s: finished runs are deleted after 2m0s; a number without a unit is seconds, and 30 days are 720h
	// jobgc/settings: JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS: "30d" is not accepted; want whole seconds such as 600, or a Go duration such as 10m or 1h30m; not negative; 30d is 720h
	// jobgc/settings: JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS: "10" is not accepted; want 0 to keep, or 30s to 168h0m0s, as whole seconds such as 600 or a Go duration such as 10m; days are hours, 30 days are 720h
}

func ExampleAgentsNames() {
	fmt.Println(settings.AgentsNames().RunRetention)
	// Output: AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS
}
