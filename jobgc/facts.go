// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// control is who controls a Job.
type control string

const (
	controlNone  control = ""      // no object
	controlOwner control = "owner" // the owner of the request
	controlOther control = "other" // another object
)

// jobFacts is everything that the machine knows of a Job. It is comparable. The
// zero value means that none exists.
type jobFacts struct {
	uid       types.UID
	control   control
	state     State // of StateOf
	outcome   Outcome
	deleting  bool
	suspends  bool // its spec asks for a suspension
	stopped   bool // it was suspended so long ago that its pods have ended
	held      bool // it has the finalizer of Options.Finalizer
	annotated bool // it has the annotation that Step gives to each Job
	released  bool // it has the annotation of a release
	ttl       ttlFacts
}

// ttlFacts compare the TTL of a Job with what it should be.
type ttlFacts struct {
	early bool // it can delete the Job before its outcome is recorded
	unset bool // neither the Job nor its retention has a TTL once its outcome is recorded
	final bool // it is the final one, or near enough
}

// judge makes facts of a Job.
type judge struct {
	owner     types.UID
	retention Retention
	finalizer string
	outcome   Outcome // in the Ref
	asked     *int32  // what the caller asks for, of a Job that has lost its annotations
	now       time.Time
}

// facts returns what the machine knows of a Job.
func (j judge) facts(job *batchv1.Job) jobFacts {
	if job == nil {
		return jobFacts{}
	}
	found := StateOf(job)
	facts := jobFacts{
		uid:       job.UID,
		control:   j.control(job),
		state:     found.State,
		outcome:   found.Outcome,
		deleting:  job.DeletionTimestamp != nil,
		suspends:  ptr.Deref(job.Spec.Suspend, false),
		held:      hasFinalizer(job, j.finalizer),
		annotated: job.Annotations[annotation] != "",
		released:  job.Annotations[releasedAnnotation] != "",
	}
	if found.State == Suspended {
		since := deciding(job.Status.Conditions).LastTransitionTime.Time
		facts.stopped = j.now.Sub(since) > podsEnd
	}
	facts.ttl = j.ttl(job, found, facts)
	return facts
}

// podsEnd is how long after a suspension the pods of a Job may still finish it.
const podsEnd = time.Minute

func (j judge) control(job *batchv1.Job) control {
	controller := metav1.GetControllerOfNoCopy(job)
	switch {
	case controller == nil:
		return controlNone
	case controller.UID == j.owner:
		return controlOwner
	}
	return controlOther
}

func (j judge) ttl(job *batchv1.Job, found Observation, facts jobFacts) ttlFacts {
	has := job.Spec.TTLSecondsAfterFinished
	want := j.final(job, found)
	safe := ptr.Equal(j.retention.atCreation(has), has)
	kept := facts.deleting || facts.released
	return ttlFacts{
		early: !safe && !kept,
		unset: has == nil && want == nil,
		final: isFinal(has, want),
	}
}

// final is the TTL of a Job whose outcome is recorded.
func (j judge) final(job *batchv1.Job, found Observation) *int32 {
	if j.outcome != "" {
		found.Outcome = j.outcome
	}
	return j.retention.final(j.askedOf(job), found, j.now)
}

// askedOf is the ttlSecondsAfterFinished that the caller has asked for.
func (j judge) askedOf(job *batchv1.Job) *int32 {
	asked := askedTTL(job)
	if asked == nil {
		return j.asked
	}
	return asked
}

// isFinal reports whether a TTL is the final one, within a tenth of it and a
// minute. A TTL that frees the name too early is not.
func isFinal(has, want *int32) bool {
	if has == nil || want == nil {
		return has == want
	}
	slack := min(int64(*want)/10, 60)
	low := int64(*want) - slack
	low = max(low, min(int64(*want), int64(leastFinalTTL/time.Second)))
	high := int64(*want) + slack
	return low <= int64(*has) && int64(*has) <= high
}

// hasFinalizer reports whether a Job carries a finalizer. Without a name it
// does not.
func hasFinalizer(job *batchv1.Job, name string) bool {
	return job != nil && name != "" && slices.Contains(job.Finalizers, name)
}
