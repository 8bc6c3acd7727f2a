// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
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
	sourceCacheBehind = "CacheBehind" // the Job, or its delete event, may be on the way
	sourceLiveRead    = "LiveRead"    // the API server said so just now
	sourceTombstone   = "Tombstone"   // gone, as last seen: by the delete event or an earlier call
)

// Observation is the answer of Step, Inspect and StateOf. The zero Observation
// has no State and means that nothing is known.
type Observation struct {
	State   State
	Outcome Outcome // of a Finished Job, and of a Collected Job from its Ref

	// Source is what the answer rests on, for logs and messages: Ref (nothing
	// was read), Seen (the Job was at hand), CacheBehind (the cache, or its
	// delete event, may be late), LiveRead, or Tombstone (the Job is gone, and
	// the informer's delete event or an earlier call of Step had its last
	// state). In code, compare State.
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
	// to the cache. With the source Tombstone it is nil.
	Job *batchv1.Job

	// After is when to look again if nothing happens before. Zero means that an
	// event of the Job or of the owner is enough.
	After time.Duration
}

// Lost reports whether no outcome of the Job is expected: the Job is Missing,
// Replaced, or Deleting unfinished. A Deleting Job is Missing as soon as it is
// gone. Until then its pods may run. If a finalizer holds the Job and it was
// deleted in the background, it may still finish. Report a loss once for each
// Ref.UID: two replicas, or a retry, find the same loss again.
func (f Observation) Lost() bool {
	return f.State.lost()
}

// lost is Observation.Lost.
func (s State) lost() bool {
	switch s {
	case Missing, Replaced, Deleting:
		return true
	default:
		return false
	}
}

// NoPods reports whether a Job is Active, has started, and its status counts no
// pod: none is active or ending, and none has ended. That is usual for a
// moment, and nothing of the Job changes if it lasts. Then something refuses
// the pods, such as a quota, pod security or a webhook. A Job whose pod has
// failed and that waits before the next one is not such a Job.
func (f Observation) NoPods() bool {
	if f.State != Active || f.Job == nil || f.StartedAt.IsZero() {
		return false
	}
	st := f.Job.Status
	counted := st.Active + st.Succeeded + st.Failed + ptr.Deref(st.Terminating, 0)
	ended := ptr.Deref(st.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	return counted+int32(len(ended.Succeeded)+len(ended.Failed)) == 0
}
