// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// Settings are read once, shown, and used.
func ExampleFromEnv() {
	env := map[string]string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "30m", "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "120"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok } // os.LookupEnv
	keep, err := jobgc.FromEnv(lookup, jobgc.JangarNames())
	fmt.Println(keep.SucceededTTL, keep.RunTTL, err)
	fmt.Println(keep.Warnings(nil)[0])
	env["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] = "30d"
	_, err = jobgc.FromEnv(lookup, jobgc.JangarNames())
	fmt.Println(err)
	env["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] = "10"
	_, err = jobgc.FromEnv(lookup, jobgc.JangarNames())
	fmt.Println(err)
	// Output:
	// 30m0s 2m0s <nil>
	// Retention.RunTTL 2m0s: finished runs are deleted after 2m0s; a number without a unit is seconds, and 30 days are 720h
	// jobgc: JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS: "30d" is not accepted; want whole seconds such as 600, or a Go duration such as 10m or 1h30m; not negative; 30d is 720h
	// jobgc: JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS: "10" is not accepted; want 0 to keep, or 30s to 168h0m0s, as whole seconds such as 600 or a Go duration such as 10m; days are hours, 30 days are 720h
}

func ExampleAgentsNames() {
	fmt.Println(jobgc.AgentsNames().RunRetention)
	// Output: AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS
}

func ExampleRetention_Warnings() {
	for _, warning := range (jobgc.Retention{UnrecordedTTL: time.Minute}).Warnings(&batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ptr.To[int32](0)}}) {
		fmt.Println(warning)
	}
	// Output:
	// Retention.UnrecordedTTL 1m0s: a finished Job is deleted before its result is recorded if the controller is down for longer; use 1h0m0s or more
	// the template's ttlSecondsAfterFinished of 0: the Job is deleted as soon as its outcome is recorded, and its pods and logs with it
	// the template's ttlSecondsAfterFinished of 0: a replica that stalls between its read of the owner and the creation can run the work again; use 1m30s or more
}

func ExampleRetention_LogValues() {
	fmt.Println(jobgc.Retention{SucceededTTL: time.Hour}.LogValues()...) // logger.Info("Retention", ...)
	// Output: succeeded 1h0m0s failed keep unrecorded keep runs keep logs keep
}
