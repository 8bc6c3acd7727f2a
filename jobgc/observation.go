// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// State is the state of the Job of a Ref.
type State string

// The states. A Job that is finished and being deleted is Finished, because its
// outcome is known.
const (
	NotCreated State = "NotCreated" // no uid is recorded
	Active     State = "Active"     // not finished
	Suspended  State = "Suspended"  // not finished, and suspended: no TTL counts
	Finishing  State = "Finishing"  // SuccessCriteriaMet or FailureTarget: its last pods are ending
	Finished   State = "Finished"   // Complete or Failed: record the outcome
	Deleting   State = "Deleting"   // lost: being deleted before it finished
	Collected  State = "Collected"  // gone, and its outcome is recorded: all is well
	Replaced   State = "Replaced"   // lost: the name belongs to another Job, and no outcome is recorded
	Missing    State = "Missing"    // lost: proven gone, and no outcome is recorded

	// Pending is of Step only: nothing is known yet. Change only the Ref, and
	// look again after Observation.After.
	Pending State = "Pending"

	// Cancelled is of Step with Request.Cancel: the Job is suspended, being
	// deleted, gone or was never created. Its pods may still be ending. Record
	// it.
	Cancelled State = "Cancelled"
)

// The sources: what an Observation rests on.
const (
	sourceRef         = "Ref"         // the Ref alone; nothing was read
	sourceSeen        = "Seen"        // the Job was at hand, in the cache or as an argument
	sourceCacheBehind = "CacheBehind" // the cache may not show the Job yet
	sourceLiveRead    = "LiveRead"    // the API server said so just now
)

// Observation is the answer of Step, Inspect and StateOf. The zero Observation
// has no State and means that nothing is known.
type Observation struct {
	State   State
	Outcome Outcome // of a Finished Job, and of a Collected Job from its Ref

	// Source is what the answer rests on, for logs and messages: Ref (nothing
	// was read), Seen (the Job was at hand), CacheBehind (the cache may not show
	// the Job yet), or LiveRead. In code, compare State.
	Source string

	// Reason and Message come from the condition that decides the State, or
	// explain a lost or a Pending Job. Reason is a valid reason of conditions
	// and Events. Both may be empty.
	Reason, Message string

	// StartedAt and FinishedAt are the Job's own times, zero when unknown.
	// Kubernetes clears a Job's start when it is suspended and sets a new one
	// when it is resumed: keep the first.
	StartedAt, FinishedAt time.Time

	// Job is the object that was seen, or nil. Do not change it: it may belong
	// to the cache.
	Job *batchv1.Job

	// After is how long to wait before the next call if nothing happens before.
	// Zero means that an event of the Job or of the owner is enough.
	After time.Duration
}

// Lost reports whether no outcome of the Job is expected: the Job is Missing,
// Replaced, or Deleting unfinished. A Deleting Job is Missing as soon as it is
// gone. Until then its pods may run. If a finalizer holds the Job and it was
// deleted in the background, it may still finish. Report a loss once for each
// Ref.UID: two replicas, or a retry, find the same loss again.
func (o Observation) Lost() bool {
	return o.State == Missing || o.State == Replaced || o.State == Deleting
}

// NoPods reports whether a Job is Active, has started, and its status counts no
// pod, not even one that has ended. That is normal for a moment. If it lasts,
// something refuses the pods, such as a quota, pod security or a webhook. No
// event follows: look again. The copy of a cache may be old: before you report
// it, read the Job live and pass it to StateOf.
func (o Observation) NoPods() bool {
	if o.State != Active || o.Job == nil || o.StartedAt.IsZero() {
		return false
	}
	st := o.Job.Status
	counted := st.Active + st.Succeeded + st.Failed + ptr.Deref(st.Terminating, 0)
	ended := ptr.Deref(st.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	return counted+int32(len(ended.Succeeded)+len(ended.Failed)) == 0
}

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
