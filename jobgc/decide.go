// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "k8s.io/apimachinery/pkg/types"

// action is what Step does next.
type action string

const (
	actWait      action = "wait"      // change nothing
	actReadOwner action = "readOwner" // read the owner live, then decide again
	actCreate    action = "create"    // create the Job, or adopt it
	actAdopt     action = "adopt"     // put the uid of a Job that exists into the Ref
	actRecord    action = "record"    // put the outcome into the Ref
	actClose     action = "close"     // put into the Ref that nothing is left to do
	actSuspend   action = "suspend"   // stop the pods
	actResume    action = "resume"    // let the pods run
	actRelease   action = "release"   // set the final TTL and take off the finalizer
	actDelete    action = "delete"    // delete the Job of a cancelled run
)

// record is what a Ref says of its Job.
type record struct {
	uid      types.UID
	outcome  Outcome
	released bool
}

// wish is what Request.Suspend asks for.
type wish string

const (
	wishNone    wish = ""
	wishSuspend wish = "suspend"
	wishRun     wish = "run"
)

// view is the input of a decision.
type view struct {
	ref       record // in the caller's copy of the owner
	ended     bool   // Request.Done
	deleting  bool   // the caller's copy of the owner is being deleted: its Job goes with it
	cancel    bool
	named     bool // Request.Name is set, and the Ref has no name
	suspend   wish
	found     finding      // of the Job
	stored    owner        // the owner in the API server
	adopted   bool         // ref was found by name and owner, and may not be stored yet
	returned  bool         // the Job is there again: the store was restored, and no cache is believed
	memory    recollection // of the Job of the Ref, or of the Job that an owner without one may have
	finalizer bool         // Options.Finalizer is set
	deletes   bool         // Options.DeleteCancelled
}

// finding is the state of the Job, and its source. The shell makes an
// Observation of it.
type finding struct {
	state   State
	outcome Outcome
	source  string
	changed bool     // the owner has changed since the caller read it
	ending  bool     // the namespace is being deleted
	job     jobFacts // empty without a Job
	again   again
}

// owner is the owner as the live read has returned it.
type owner struct {
	is     ownerState
	edited bool // its generation is not the one of the request
	ref    record
}

// ownerState is what the owner wants.
type ownerState string

const (
	ownerUnread   ownerState = ""
	ownerGone     ownerState = "gone"     // or recreated under the same name
	ownerWaits    ownerState = "waits"    // for the end of its run
	ownerDeleting ownerState = "deleting" // its run has not ended
	ownerDone     ownerState = "done"     // its status is final
)

// decide returns the one thing to do now. Two rules hold for every view. A Job
// is created only for a stored owner that is neither done nor being deleted and
// that has recorded no Job. A Job is released or deleted only if its stored
// owner has recorded how it ended.
func decide(v view) action {
	if v.ref.uid == "" {
		return v.decideStart()
	}
	if v.doubtsOwner() {
		return v.decideConfirmation()
	}
	if v.ref.released || v.found.state == Pending {
		return actWait
	}
	recorded := v.ref.outcome != "" || v.ended
	if v.found.state == Finished && !recorded {
		return actRecord
	}
	if v.found.gone() {
		return v.decideLeave()
	}
	if v.cancel && v.ref.outcome == "" {
		return v.decideStop()
	}
	switch v.found.state {
	case Finished:
		return v.decideRelease()
	case Deleting:
		return v.decideDeletion()
	default:
	}
	if v.ended {
		return actWait
	}
	return v.decideSuspension()
}

// done reports whether the owner wants nothing more of its Job.
func (v view) done() bool { return v.ended || v.deleting }

// doubtsOwner reports whether the caller's copy of the owner is not believed
// before a live read confirms it. A Job that seems lost may have an outcome
// that another replica has recorded. A Job that is there again has an owner
// that the cache may show in its state before the restore.
func (v view) doubtsOwner() bool {
	if v.returned && v.found.job.uid != "" {
		return true
	}
	if v.ended || !v.found.state.lost() {
		return false
	}
	return v.memory.loss != v.found.state
}

// decideConfirmation decides for an owner that is not believed. An answer that
// agrees ends the doubt.
func (v view) decideConfirmation() action {
	if v.stored.is == ownerUnread {
		return actReadOwner
	}
	return actWait
}

// ownerAgrees reports whether the stored owner has recorded what the caller's
// copy has.
func (v view) ownerAgrees() bool {
	done := v.stored.is == ownerDone
	if v.stored.is == ownerGone || done != v.ended {
		return false
	}
	if v.returned && v.stored.edited {
		return false // what it asks for may have changed
	}
	return v.isUnwritten() || v.stored.ref == v.ref
}

// isUnwritten reports whether the Ref of the stored owner is still empty, and
// the one of this call comes next.
func (v view) isUnwritten() bool { return v.adopted && v.stored.ref.uid == "" }

// decideStart decides for an owner that has recorded no Job.
func (v view) decideStart() action {
	switch {
	case v.found.job.uid != "":
		return actAdopt
	case v.done(), v.cancel, v.found.state == Pending:
		return actWait
	}
	switch v.stored.is {
	case ownerUnread:
		return actReadOwner
	case ownerWaits:
		asCopied := !v.stored.edited && v.stored.ref == v.ref
		if asCopied {
			return actCreate
		}
	default: // it wants no Job
	}
	return actWait
}

// decideStop decides for the Job of a cancelled run that has recorded no
// outcome.
func (v view) decideStop() action {
	job := v.found.job
	switch {
	case v.found.state == Finished, job.deleting: // its pods end by themselves
	case !job.suspends:
		return actSuspend
	}
	finished := v.stored.ref.outcome != "" // then the stored run was not cancelled
	kept := finished || !v.deletes
	switch {
	case !v.ended:
		return actWait
	case kept, job.deleting:
		return v.decideRelease()
	}
	return v.onceRecorded(actDelete)
}

// decideDeletion decides for a Job that is being deleted unfinished.
// Options.Finalizer keeps it until its loss is recorded.
func (v view) decideDeletion() action {
	if v.done() {
		return v.decideRelease()
	}
	return actWait
}

// decideRelease decides for a Job whose owner waits for nothing more.
func (v view) decideRelease() action {
	switch {
	case v.memory.sentFor == v.found.job:
		return actWait // the cache may not show it yet
	case v.finalTTLIsDue(), v.found.job.held, v.blind():
		return v.onceRecorded(actRelease)
	}
	return v.decideLeave()
}

// decideLeave decides for a Job that needs nothing more.
func (v view) decideLeave() action {
	if v.restsUnseen() {
		return actClose
	}
	return actWait
}

// restsUnseen reports whether a Job rests and the cache does not show that.
// Unless the Ref says so, each call would read the Job live.
func (v view) restsUnseen() bool { return v.rests() && v.found.source == sourceLiveRead }

// rests reports whether nothing more happens to the Job: it has finished, or
// its run has ended without it.
func (v view) rests() bool {
	switch {
	case v.found.state == Finished:
		return true
	case v.ended:
		return v.found.job.stopped || v.found.gone()
	}
	return false
}

// onceRecorded returns a if the stored owner has recorded how this Job ended.
func (v view) onceRecorded(a action) action {
	if v.stored.is == ownerUnread {
		return actReadOwner
	}
	final := v.stored.is == ownerDone || v.stored.ref.outcome != ""
	if final && v.storedRefFits() {
		return a
	}
	return actWait
}

// decideSuspension decides for a Job that has not finished and is wanted. An
// older spec of the owner must not undo what another replica did for the newer
// one.
func (v view) decideSuspension() action {
	if v.suspend == wishNone || (v.suspend == wishSuspend) == v.found.job.suspends {
		return actWait
	}
	switch v.stored.is {
	case ownerUnread:
		return actReadOwner
	case ownerGone, ownerDone:
		return actWait
	default:
	}
	if v.stored.edited || !v.storedRefFits() {
		return actWait
	}
	if v.suspend == wishSuspend {
		return actSuspend
	}
	return actResume
}

// storedRefFits reports whether the stored owner records this Job, or may
// record it next.
func (v view) storedRefFits() bool {
	return v.isUnwritten() || v.stored.ref.uid == v.ref.uid
}

// finalTTLIsDue reports whether the Job has not got its final TTL yet. The
// annotation of a released Job records that it has.
func (v view) finalTTLIsDue() bool {
	job := v.found.job
	switch {
	case v.found.state != Finished, job.deleting, job.released:
		return false
	}
	return !job.ttl.unset
}

// settled reports whether nothing is left to do once the outcome is recorded.
func (v view) settled() bool {
	job := v.found.job
	switch {
	case v.found.gone():
		return true
	case v.blind(), job.held:
		return false
	case job.released:
		return false // an outcome was recorded before: one of the two copies is from before a restore
	}
	return job.ttl.final
}

// blind reports whether this copy of the Job may lack what the stored Job has:
// an informer's transform strips metadata. Every Job that Step creates carries
// an annotation and, with Options.Finalizer, a finalizer until its release.
func (v view) blind() bool {
	switch {
	case v.found.source == sourceLiveRead, v.found.job.released:
		return false
	case !v.found.job.annotated:
		return true
	}
	return v.finalizer && !v.found.job.held
}

// gone reports whether there is nothing left to release.
func (f finding) gone() bool { return f.job.uid == "" || f.source == sourceTombstone }
