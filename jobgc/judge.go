// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateOf classifies a Job that is at hand, by its conditions and deletion
// timestamp alone: counts of pods say nothing about success (a Job may fail
// with none failed, and has succeeded pods long before it is Complete). It
// looks at all conditions, in any order. A nil Job gives the zero Observation.
// A Job that claims to be both Complete and Failed, which the API server
// refuses, counts as Failed. A Job that is deleted while it is Finishing counts
// as Finished: its outcome is decided, and no further condition may come.
func StateOf(job *batchv1.Job) Observation {
	if job == nil {
		return Observation{}
	}
	f := Observation{State: Active, Source: sourceSeen, Job: job, StartedAt: timeOf(job.Status.StartTime)}
	deleting := job.DeletionTimestamp != nil
	c := deciding(job.Status.Conditions)
	if c != nil {
		f.Reason = c.Reason
		f.Message = c.Message
		f.State = stateBy(c.Type)
	}
	switch {
	case f.State == Finished, f.State == Finishing && deleting:
		return finished(f, c)
	case deleting:
		f.State = Deleting
		f.Reason = reasonDeleting
		f.Message = messageDeleting
	}
	return f
}

// stateBy is the state by the condition that matters most.
func stateBy(t batchv1.JobConditionType) State {
	switch t {
	case batchv1.JobSuspended:
		return Suspended
	case batchv1.JobComplete, batchv1.JobFailed:
		return Finished
	case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
		return Finishing
	}
	return Active
}

// lastState classifies a Job that is gone. A Job that was Finishing has ended
// with the outcome that it announced.
func lastState(job *batchv1.Job) Observation {
	f := StateOf(job)
	if f.State == Finishing {
		f = finished(f, deciding(job.Status.Conditions))
	}
	return f
}

// finished completes an Observation by the condition that decides the outcome.
func finished(f Observation, c *batchv1.JobCondition) Observation {
	f.State = Finished
	f.Outcome = Succeeded
	f.FinishedAt = c.LastTransitionTime.Time
	failed := c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget
	if failed {
		f.Outcome = Failed
	}
	if f.FinishedAt.IsZero() {
		f.FinishedAt = timeOf(f.Job.Status.CompletionTime)
	}
	return f
}

// deciding returns the condition that holds and matters most; nil if none does.
func deciding(conditions []batchv1.JobCondition) *batchv1.JobCondition {
	var found *batchv1.JobCondition
	most := 0
	for i := range conditions {
		c := &conditions[i]
		matters := weight(c.Type)
		if c.Status == corev1.ConditionTrue && matters > most {
			found = c
			most = matters
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

// The reasons and messages for states that no condition of a Job reports. They
// are constants so that Inspect does not allocate.
const (
	reasonDeleting  = "JobDeleting"
	messageDeleting = "the Job is being deleted before it finished"
	reasonMissing   = "JobMissing"
	messageMissing  = "the Job is gone and its outcome was never recorded"
	reasonReplaced  = "JobReplaced"
	messageReplaced = "the name belongs to another Job; this one is gone and its outcome was never recorded"

	reasonOwnerChanged  = "OwnerChanged"
	messageOwnerChanged = "the owner has changed, or is gone, since it was read"

	reasonTerminating  = "NamespaceTerminating"
	messageTerminating = "the namespace is being deleted, so that no Job can be created in it"
)

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
