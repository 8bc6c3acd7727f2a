// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leastBackstop is what a backstop should be at least: a controller may be down that long.
const leastBackstop = time.Hour

// Exposure lists, for operators, the settings by which a Job or its result may vanish early, or that do not count as
// they are written. The Job is one as it would be passed to Ensure, or nil. Nothing listed means nothing to do.
func (r Retention) Exposure(job *batchv1.Job) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, o := range []struct {
		outcome Outcome
		keep    *time.Duration
	}{{Succeeded, r.Succeeded}, {Failed, r.Failed}} {
		if o.keep == nil {
			continue
		}
		if ttl, clamped := r.AtRelease(o.outcome, time.Time{}, time.Time{}); clamped {
			say("%s Jobs: a TTL of %s is out of bounds; %s is used", o.outcome, *o.keep, shown(ttl, "none"))
		}
		if *o.keep == 0 {
			say("%s Jobs are deleted as soon as their result is recorded, and their pods and logs with them", o.outcome)
		}
	}
	if r.Backstop > 0 && r.Backstop < leastBackstop {
		say("a backstop of %s deletes a finished Job unread if the controller is down for longer; use %s or more", r.Backstop, leastBackstop)
	}
	if job == nil {
		return out
	}
	template := job.Spec
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == "CronJob" {
		say("CronJob %s deletes its finished Jobs by successfulJobsHistoryLimit and failedJobsHistoryLimit, whatever their TTL; raise both, or set Options.Hold", owner.Name)
	}
	if ttl, backstop := template.TTLSecondsAfterFinished, r.AtCreate(); ttl != nil && (backstop == nil || *ttl < *backstop) {
		say("the template's ttlSecondsAfterFinished of %d is not used: it could delete a Job before its result is recorded; the backstop is %s", *ttl, shown(backstop, "none"))
	}
	if template.ManagedBy != nil && *template.ManagedBy != batchv1.JobControllerName {
		say("the template's managedBy %q: Kubernetes deletes such a Job by its TTL all the same", *template.ManagedBy)
	}
	return out
}
