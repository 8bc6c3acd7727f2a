// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc_test

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/jobgc"
)

// What a scene shows of an object.

// shownJob is a Job, such as "job-1 Finished Succeeded, TTL 1h0m0s, released".
func shownJob(job *batchv1.Job) string {
	f := jobgc.StateOf(job)
	parts := []string{strings.TrimSpace(fmt.Sprintf("%s %s %s", job.UID, f.State, f.Outcome))}
	if job.DeletionTimestamp != nil {
		parts = append(parts, "deleting")
	}
	if ptr.Deref(job.Spec.Suspend, false) {
		parts = append(parts, "suspend")
	}
	if job.Spec.TTLSecondsAfterFinished == nil {
		parts = append(parts, "no TTL")
	} else {
		parts = append(parts, "TTL "+shownTTL(*job.Spec.TTLSecondsAfterFinished))
	}
	for _, name := range job.Finalizers {
		parts = append(parts, "finalizer "+name)
	}
	asked, has := job.Annotations["jobgc.controllerkit.dev/ttl-seconds-after-finished"]
	if has {
		parts = append(parts, "asks for a TTL of "+asked+"s")
	}
	return strings.Join(parts, ", ")
}

func shownTTL(seconds int32) string { return shownTime(time.Duration(seconds) * time.Second) }

// shownTime is a duration without its zeros, such as "168h".
func shownTime(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func shownRef(ref *jobgc.Ref) string {
	if ref == nil {
		return "no Ref"
	}
	return strings.TrimSpace(fmt.Sprintf("Ref %s %s", ref.UID, ref.Outcome))
}

func shownOwner(o *sceneOwner) string {
	out := shownRef(o.ref)
	if o.end != "" {
		out += ", ended " + o.end
	}
	if o.cancel {
		out += ", cancel"
	}
	if o.suspend != nil {
		out += fmt.Sprintf(", suspend=%t", *o.suspend)
	}
	if o.DeletionTimestamp != nil {
		out += ", deleting"
	}
	return out
}

func shownObservation(f jobgc.Observation) string {
	out := strings.TrimSpace(fmt.Sprintf("%s %s", f.State, f.Outcome)) + " by " + f.Source
	if f.Reason != "" {
		out += ", reason " + f.Reason
	}
	if f.After > 0 {
		out += ", again after " + shownTime(f.After)
	}
	return out
}

func shownUIDs(uids []types.UID) string {
	var out []string
	for _, uid := range uids {
		out = append(out, string(uid))
	}
	return strings.Join(out, ", ")
}
