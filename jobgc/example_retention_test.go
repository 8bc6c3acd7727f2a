// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/jobgc"
)

// Settings are read once, shown, and used.
func ExampleFromEnv() {
	env := map[string]string{"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "10", "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "0"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok } // os.LookupEnv
	keep, err := jobgc.FromEnv(lookup, jobgc.Names{})
	fmt.Println(keep, err)
	fmt.Println(keep.Exposure(nil)[0])
	env["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] = "30d"
	_, err = jobgc.FromEnv(lookup, jobgc.Names{})
	fmt.Println(err)
	// Output:
	// succeeded=30s failed=30s backstop=168h0m0s runs=keep logs=168h0m0s <nil>
	// Succeeded Jobs: a TTL of 10s is out of bounds; 30s is used
	// jobgc: JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS: "30d" is not accepted; want whole seconds such as 600, or a Go duration such as 10m or 1h30m; not negative
}

func ExampleAgentsNames() {
	fmt.Println(jobgc.AgentsNames().RunRetention)
	// Output: AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS
}

func ExampleRetention_AtCreate() {
	fmt.Println(*jobgc.Retention{}.AtCreate(), jobgc.Retention{Backstop: -1}.AtCreate() == nil)
	// Output: 604800 true
}

// The controller was down for an hour. A TTL of ten minutes would delete the Job at once.
func ExampleRetention_AtRelease() {
	keep := jobgc.Retention{Failed: new(10 * time.Minute)}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ttl, clamped := keep.AtRelease(jobgc.Failed, now.Add(-time.Hour), now)
	fmt.Println(*ttl, clamped)
	// Output: 4200 false
}

// A run may have a value of its own.
func ExampleRetention_For() {
	all := jobgc.Retention{Succeeded: new(10 * time.Minute), Failed: new(10 * time.Minute)}
	for _, own := range []*int32{nil, new(int32(3600)), new(int32(0)), new(int32(-1))} {
		keep, err := all.For(own)
		fmt.Println(keep.KeysAndValues()[1], err)
	}
	// Output:
	// 10m0s <nil>
	// 1h0m0s <nil>
	// 0s <nil>
	// 10m0s jobgc: jobTTLSecondsAfterFinished: -1 is not accepted; want whole seconds from 0
}

func ExampleRetention_Annotate() {
	job := &batchv1.Job{}
	jobgc.Retention{Succeeded: new(time.Hour)}.Annotate(job)
	fmt.Println(job.Annotations)
	// Output: map[jobgc.controllerkit.dev/retention:succeeded=1h0m0s failed=keep backstop=168h0m0s runs=keep logs=keep]
}

func ExampleRetention_Exposure() {
	for _, warning := range (jobgc.Retention{Backstop: time.Minute}).Exposure(&batchv1.Job{Spec: batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(0))}}) {
		fmt.Println(warning)
	}
	// Output:
	// a backstop of 1m0s deletes a finished Job unread if the controller is down for longer; use 1h0m0s or more
	// the template's ttlSecondsAfterFinished of 0 is not used: it could delete a Job before its result is recorded; the backstop is 1m0s
}

// A sweep deletes what has expired, so many at a time, and looks again when the next is due.
func ExampleRetention_Expired() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	keep := jobgc.Retention{Runs: 24 * time.Hour}
	run := &metav1.ObjectMeta{Name: "run-1", UID: "4f1c", ResourceVersion: "7"} // any object
	for _, ago := range []time.Duration{23 * time.Hour, 25 * time.Hour} {
		expired, in := keep.Expired(run, now.Add(-ago), nil, now)
		fmt.Println(expired, in)
		if expired {
			only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &run.UID, ResourceVersion: &run.ResourceVersion}}
			fmt.Println("delete", run.Name, "only at version", *only.Preconditions.ResourceVersion)
		}
	}
	run.Annotations = map[string]string{"agents.proompteng.ai/retain": "forever"}
	fmt.Println(keep.Expired(run, now.Add(-1000*time.Hour), nil, now))
	// Output:
	// false 1h0m0s
	// true 0s
	// delete run-1 only at version 7
	// false 0s
}

func ExampleRetention_KeysAndValues() {
	fmt.Println(jobgc.Retention{Succeeded: new(time.Hour)}.KeysAndValues()...) // logger.Info("Retention", ...)
	// Output: succeeded 1h0m0s failed keep backstop 168h0m0s runs keep logs keep
}
