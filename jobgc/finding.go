// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// State is what became of the Job of a Ref.
type State string

// The states. Of a Job that is both finished and being deleted, the finish counts: its outcome is known.
const (
	NotCreated State = "NotCreated" // no uid is recorded: Ensure the Job
	Pending    State = "Pending"    // not known yet (of a Guard only): change nothing, and look again after Finding.After
	Active     State = "Active"     // not finished
	Suspended  State = "Suspended"  // not finished, and suspended: no TTL counts
	Finishing  State = "Finishing"  // SuccessCriteriaMet or FailureTarget: its last pods are ending
	Finished   State = "Finished"   // Complete or Failed: record the outcome, then Release
	Deleting   State = "Deleting"   // lost: being deleted before it finished
	Collected  State = "Collected"  // gone, and its outcome is recorded: all is well
	Replaced   State = "Replaced"   // lost: the name belongs to another Job, and no outcome is recorded
	Missing    State = "Missing"    // lost: proven gone, and no outcome is recorded
)

// Proof is what a Finding rests on.
type Proof string

// The proofs.
const (
	ByRef       Proof = "Ref"             // the Ref alone; nothing was read
	BySight     Proof = "Seen"            // the Job was at hand, in the cache or as an argument
	ByCacheLag  Proof = "CacheBehind"     // the cache has not passed the creation, or its delete event may still be on the way
	ByCacheRV   Proof = "CachePastCreate" // the cache has passed the creation and has no such Job
	ByLiveRead  Proof = "LiveRead"        // the API server said so just now
	ByTombstone Proof = "Tombstone"       // the informer's delete event carried the finished Job
)

// Finding is the answer of Look and Judge. The zero Finding says nothing and has no State.
type Finding struct {
	State   State
	Outcome Outcome // of a Finished Job, and of a Collected one as the Ref has it
	Proof   Proof

	// Reason and Message are those of the condition that decides the State, or say why a Job is lost. Reason is a
	// valid reason of conditions and Events; it may be empty, and so may Message.
	Reason, Message string

	// StartedAt and FinishedAt are the Job's own times, zero when unknown. Kubernetes clears a Job's start when it is
	// suspended and sets a new one when it is resumed: keep the first.
	StartedAt, FinishedAt time.Time

	// Job is the object that was seen: read it, never change it, for it may be the cache's. It is nil when there is
	// none; with ByTombstone it is the last known one.
	Job *batchv1.Job

	// After is when to look again while Pending.
	After time.Duration

	// Hint says, for a Finished Job that is already gone, what probably deleted it. It is not a fact: Kubernetes does
	// not record who deleted an object.
	Hint string
}

// Lost reports whether the outcome of the Job is not to be expected any more: it is Missing, Replaced, or Deleting
// unfinished. A Deleting Job is Missing as soon as it is gone; until then its pods may run, and one that is held by a
// finalizer and was deleted in the background may yet finish. Report a loss once for each Ref.UID: two replicas, or a
// retry, find the same one again.
func (f Finding) Lost() bool {
	return f.State == Missing || f.State == Replaced || f.State == Deleting
}

// gone reports whether there is nothing left to release.
func (f Finding) gone() bool {
	return f.State == Missing || f.State == Replaced || f.State == Collected || f.Proof == ByTombstone
}
