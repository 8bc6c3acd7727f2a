// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leastBackstop is what a backstop should be at least: a controller may be down
// that long.
const leastBackstop = time.Hour

// Warnings lists, for operators, the settings that can delete a Job or its
// result early. Pass a Job as the caller builds it, or nil.
func (r Retention) Warnings(job *batchv1.Job) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, err := range r.check() {
		say("%s", err)
	}
	if r.UnrecordedTTL > 0 && r.UnrecordedTTL < leastBackstop {
		say("Retention.UnrecordedTTL %s: a finished Job is deleted before its result is recorded if the "+
			"controller is down for longer; use %s or more", r.UnrecordedTTL, leastBackstop)
	}
	out = append(out, r.freesNames()...)
	if job == nil {
		return out
	}
	template := job.Spec
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "CronJob" {
		say("CronJob %s deletes its finished Jobs by successfulJobsHistoryLimit and "+
			"failedJobsHistoryLimit, independent of their TTL; raise both, or set Options.Finalizer",
			owner.Name)
	}
	asked := template.TTLSecondsAfterFinished
	if asked != nil && *asked == 0 {
		say("the template's ttlSecondsAfterFinished of 0: the Job is deleted as soon as its outcome is " +
			"recorded, and its pods and logs with it")
	}
	if asked != nil && time.Duration(*asked)*time.Second < leastFinalTTL {
		say("the template's ttlSecondsAfterFinished of %d: %s", *asked, runsTwice())
	}
	if template.ManagedBy != nil && *template.ManagedBy != batchv1.JobControllerName {
		say("the template's managedBy %q: Kubernetes deletes such a Job by its TTL all the same",
			*template.ManagedBy)
	}
	return out
}

// freesNames lists the final TTLs after which the name of a Job can be free
// again before a delayed creation is given up.
func (r Retention) freesNames() []string {
	var out []string
	for _, f := range []struct {
		name string
		ttl  time.Duration
	}{{"SucceededTTL", r.SucceededTTL}, {"FailedTTL", r.FailedTTL}} {
		if f.ttl > 0 && f.ttl < leastFinalTTL {
			out = append(out, fmt.Sprintf("Retention.%s %s: %s", f.name, f.ttl, runsTwice()))
		}
	}
	return out
}

func runsTwice() string {
	return fmt.Sprintf("a replica that stalls between its read of the owner and the creation can run the "+
		"work again; use %s or more", leastFinalTTL)
}
