// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// action is what Step does next.
type action string

const (
	actWait      action = "wait"      // change nothing
	actReadOwner action = "readOwner" // read the owner live, then decide again
	actCreate    action = "create"    // create the Job, or adopt it
	actAdopt     action = "adopt"     // put the uid of a Job that exists into the Ref
	actRecord    action = "record"    // put the outcome into the Ref
	actSuspend   action = "suspend"   // stop the pods
	actResume    action = "resume"    // let the pods run
	actRelease   action = "release"   // set the final TTL and take off the finalizer
	actDelete    action = "delete"    // delete the Job of a cancelled run
)

// view is the input of a decision.
type view struct {
	ref          Ref         // in the caller's copy of the owner
	done, cancel bool        // what the caller says of its run; it is also done if the owner is being deleted
	ended        bool        // Request.Done; unlike done, false for a deleting owner that is not Done
	named        bool        // Request.Name is set, and the Ref has no name
	suspend      *bool       // nil changes nothing
	found        Observation // of the Job
	stored       *stored     // the owner in the API server; nil before the read
	adopted      bool        // ref was found by the name of the Job and the uid of its owner, and may not be stored yet
	retention    Retention
	finalizer    string
	deletes      bool  // Options.DeleteCancelled
	returned     bool  // the Job is there again after it was gone: the store was restored, and no cache is believed
	proven       State // the loss of this Job that a live read of the owner has confirmed
	sent         bool  // the release was sent a moment ago, and the cache may not show it yet
	now          time.Time
}

// stored is the result of the live read of the owner. The zero value is an
// owner that is gone or was recreated under the same name.
type stored struct {
	exists, deleting, done bool
	edited                 bool // its generation is not the one of the request
	ref                    Ref
}

// decide returns the one thing to do now. Two rules hold for every view. A Job
// is created only for a stored owner that is neither done nor being deleted and
// that has recorded no Job. A Job is released or deleted only if its stored
// owner has recorded how it ended.
func decide(v view) action {
	switch {
	case v.ref.UID == "":
		return v.start()
	case v.doubtsOwner() && v.stored == nil:
		return actReadOwner
	case v.doubtsOwner() && !v.ownerAgrees():
		return actWait
	case v.ref.Released || v.found.State == Pending:
		return actWait
	case v.found.State == Finished && v.ref.Outcome == "" && !v.ended:
		return actRecord
	case v.found.Job == nil || v.found.gone():
		return actWait
	case v.cancel && v.ref.Outcome == "":
		return v.stop()
	case v.found.State == Finished || v.found.State == Deleting && v.done:
		return v.release()
	case v.ended || v.found.State == Deleting:
		return actWait
	}
	return v.resume()
}

// doubtsOwner reports whether the caller's copy of the owner is not believed
// before a live read confirms it. A Job that seems lost may have an outcome
// that another replica has recorded. A Job that is there again has an owner
// that the cache may show as it was before the store was restored.
func (v view) doubtsOwner() bool {
	if v.returned && v.found.Job != nil {
		return true
	}
	return v.found.Lost() && !v.ended && v.proven != v.found.State
}

// ownerAgrees reports whether the stored owner has recorded what the caller's
// copy has.
func (v view) ownerAgrees() bool {
	if !v.stored.exists || v.stored.done != v.ended {
		return false
	}
	if v.returned && v.stored.edited {
		return false // what it asks for may have changed
	}
	return v.stored.ref.same(v.ref) || v.adopted && v.stored.ref.UID == ""
}

// adopts is the view after the Job was put into the Ref. An answer about the
// owner is from before that: it proves no loss.
func (v view) adopts(ref Ref) view {
	v.ref = ref
	v.adopted = true
	if v.found.Lost() {
		v.stored = nil
	}
	return v
}

// waiting is the Observation for a call that changes nothing.
func (v view) waiting() Observation {
	unrecorded := v.ref.UID == "" && v.stored != nil
	denied := v.doubtsOwner() && v.stored != nil && !v.ownerAgrees()
	if !unrecorded && !denied {
		return v.found
	}
	changed := Observation{State: Pending, Source: sourceLiveRead, Reason: reasonOwnerChanged, Message: messageOwnerChanged, After: poll}
	if v.returned {
		changed.After = reread // the caller's cache may need long
	}
	return changed
}

// start decides for an owner that has recorded no Job.
func (v view) start() action {
	switch {
	case v.found.Job != nil:
		return actAdopt
	case v.done || v.cancel:
		return actWait
	case v.stored == nil:
		return actReadOwner
	case !v.stored.exists || v.stored.deleting || v.stored.done || v.stored.edited || !v.stored.ref.same(v.ref):
		return actWait
	}
	return actCreate
}

// stop decides for the Job of a cancelled run that has recorded no outcome.
func (v view) stop() action {
	job := v.found.Job
	switch {
	case v.found.State != Finished && job.DeletionTimestamp == nil && !suspends(job):
		return actSuspend
	case !v.ended:
		return actWait
	case job.DeletionTimestamp != nil || !v.deletes:
		return v.release()
	}
	return v.recorded(actDelete)
}

// release decides for a Job that has finished, or that Options.Finalizer keeps
// although its loss is recorded.
func (v view) release() action {
	if v.sent || !v.finalTTLIsDue() && !hasFinalizer(v.found.Job, v.finalizer) && !v.blind() {
		return actWait
	}
	return v.recorded(actRelease)
}

// recorded returns a if the stored owner has recorded how this Job ended.
func (v view) recorded(a action) action {
	switch {
	case v.stored == nil:
		return actReadOwner
	case !v.stored.exists || !v.storedRefFits() || v.stored.ref.Outcome == "" && !v.stored.done:
		return actWait
	}
	return a
}

// resume decides for a Job that has not finished and is wanted. An older spec
// of the owner must not undo what another replica did for the newer one.
func (v view) resume() action {
	switch {
	case v.suspend == nil || *v.suspend == suspends(v.found.Job):
		return actWait
	case v.stored == nil:
		return actReadOwner
	case !v.stored.exists || v.stored.done || v.stored.edited || !v.storedRefFits():
		return actWait
	case *v.suspend:
		return actSuspend
	}
	return actResume
}

// storedRefFits reports whether the stored owner records this Job, or may
// record it next.
func (v view) storedRefFits() bool {
	if v.adopted && v.stored.ref.UID == "" {
		return true
	}
	return v.stored.ref.UID == v.ref.UID
}

// finalTTLIsDue reports whether the Job has not got its final TTL yet. The
// annotation of a released Job records that it has.
func (v view) finalTTLIsDue() bool {
	job := v.found.Job
	if v.found.State != Finished || job.DeletionTimestamp != nil || job.Annotations[releasedAnnotation] != "" {
		return false
	}
	return job.Spec.TTLSecondsAfterFinished != nil || v.retention.final(job, v.found, v.now) != nil
}

// settled reports whether nothing is left to do once the outcome is recorded:
// the TTL of the creation is the final one, within a tenth of it and a minute.
func (v view) settled() bool {
	job := v.found.Job
	if job == nil || v.found.gone() {
		return true
	}
	if v.blind() || hasFinalizer(job, v.finalizer) {
		return false
	}
	if job.Annotations[releasedAnnotation] != "" {
		return false // an outcome was recorded before: one of the two copies is from before a restore
	}
	has, want := job.Spec.TTLSecondsAfterFinished, v.retention.final(job, v.found, v.now)
	if has == nil || want == nil {
		return has == nil && want == nil
	}
	slack := min(int64(*want)/10, 60)
	if *has < min(*want, int32(leastFinalTTL/time.Second)) {
		return false // the name would be free too early
	}
	return int64(*has) >= int64(*want)-slack && int64(*has) <= int64(*want)+slack
}

// blind reports whether this copy of the Job may lack what the stored Job has:
// an informer's transform strips metadata. Every Job that Step creates carries
// an annotation and, with Options.Finalizer, a finalizer until its release.
func (v view) blind() bool {
	job := v.found.Job
	if v.found.Source == sourceLiveRead {
		return false
	}
	return job.Annotations[annotation] == "" ||
		v.finalizer != "" && !hasFinalizer(job, v.finalizer) && job.Annotations[releasedAnnotation] == ""
}

// same reports whether two Refs record the same about the same Job. It ignores
// the time and the version of the creation.
func (r *Ref) same(as Ref) bool {
	return r.Name == as.Name && r.UID == as.UID && r.Outcome == as.Outcome && r.Released == as.Released
}

func suspends(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
