// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Judge classifies a Job that is at hand, by its conditions and deletion timestamp alone: counts of pods say nothing
// about success (a Job may fail with none failed, and has succeeded pods long before it is Complete). It looks at all
// conditions, in any order. A nil Job gives the zero Finding. A Job that claims to be both Complete and Failed, which
// the API server refuses, counts as Failed.
func Judge(job *batchv1.Job) Finding {
	if job == nil {
		return Finding{}
	}
	f := Finding{State: Active, Proof: BySight, Job: job, StartedAt: timeOf(job.Status.StartTime)}
	c := deciding(job.Status.Conditions)
	if c != nil {
		f.Reason, f.Message = c.Reason, c.Message
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed:
			f.State, f.Outcome, f.FinishedAt = Finished, Succeeded, c.LastTransitionTime.Time
			if c.Type == batchv1.JobFailed {
				f.Outcome = Failed
			}
			if f.FinishedAt.IsZero() {
				f.FinishedAt = timeOf(job.Status.CompletionTime)
			}
			return f
		case batchv1.JobSuspended:
			f.State = Suspended
		default:
			f.State = Finishing
		}
	}
	if job.DeletionTimestamp != nil {
		f.State, f.Reason, f.Message = Deleting, reasonDeleting, messageDeleting
	}
	return f
}

// deciding returns the condition that holds and matters most; nil if none does.
func deciding(conditions []batchv1.JobCondition) *batchv1.JobCondition {
	var found *batchv1.JobCondition
	for i := range conditions {
		c := &conditions[i]
		if c.Status == corev1.ConditionTrue && weight(c.Type) > 0 && (found == nil || weight(c.Type) > weight(found.Type)) {
			found = c
		}
	}
	return found
}

func weight(t batchv1.JobConditionType) int {
	switch t {
	case batchv1.JobFailed:
		return 5
	case batchv1.JobComplete:
		return 4
	case batchv1.JobFailureTarget:
		return 3
	case batchv1.JobSuccessCriteriaMet:
		return 2
	case batchv1.JobSuspended:
		return 1
	}
	return 0
}

// The reasons and messages of what no condition of a Job can say. They are constants so that Look need not allocate.
const (
	reasonDeleting  = "JobDeleting"
	messageDeleting = "the Job is being deleted before it finished"
	reasonMissing   = "JobMissing"
	messageMissing  = "the Job is gone and its outcome was never recorded"
	reasonReplaced  = "JobReplaced"
	messageReplaced = "the name belongs to another Job; this one is gone and its outcome was never recorded"
)

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
