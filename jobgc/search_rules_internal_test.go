// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/internal/world"
)

// runFacts are what the rules remember.
type runFacts struct {
	recorded bool      // the owner has a Ref, or has ended
	job      types.UID // that was created last
	outcome  Outcome   // of that Job
	removed  bool
	earlier  bool // the Job of an earlier version exists
	wrong    string
}

// note holds a write to the rules.
func (m runModel) note(f runFacts, w world.Write) runFacts {
	if f.wrong != "" {
		return f
	}
	if w.Resource == theRun.Resource {
		f.wrong = m.checkRun(f, w)
		owner, err := world.As[run](cmp.Or(w.After, w.Before))
		f.recorded = err == nil && (owner.Status.Job != nil || owner.Status.End != "")
		return f
	}
	before := m.decode(w.Before)
	after := m.decode(w.After)
	if w.Key == theEarlier {
		f.earlier = after != nil
		return f
	}
	switch {
	case before == nil:
		f.wrong = m.checkCreation(f)
		f.job = after.UID
		f.outcome = ""
		f.removed = false
	case after == nil:
		f.removed = m.frees(before)
	}
	if after != nil && StateOf(after).State == Finished {
		f.outcome = StateOf(after).Outcome
		f.job = after.UID
	}
	return f
}

// frees reports whether the removal of a Job can free its name for a creation
// that stalls. A final TTL of 90 seconds is longer than that.
func (m runModel) frees(job *batchv1.Job) bool {
	isReleased := job.Spec.TTLSecondsAfterFinished != nil && *job.Spec.TTLSecondsAfterFinished >= 90
	return !isReleased || len(m.acts) > 0 || m.policy > 0
}

// checkCreation holds a creation to the rules. A request that stalls may come
// when the Job was removed. Otherwise none is sent for a run that has its Ref.
func (m runModel) checkCreation(f runFacts) string {
	mayStall := m.budgets.Late+m.budgets.Pauses+m.budgets.Switches > 0
	mayBeLate := mayStall && (f.removed || f.job == "")
	if f.recorded && !mayBeLate {
		return "a Job was created for a run that has its Ref"
	}
	if f.earlier || f.job == "" && m.jobName != "" {
		return "a Job was created in addition to the Job of the earlier version"
	}
	return ""
}

func (m runModel) decode(o *world.Object) *batchv1.Job {
	if o == nil {
		return nil
	}
	job, err := world.As[batchv1.Job](o)
	if err != nil {
		return nil
	}
	return job
}

// checkRun holds a write of the owner to the rules.
func (m runModel) checkRun(f runFacts, w world.Write) string {
	if w.Before == nil || w.After == nil {
		return ""
	}
	before, err := world.As[run](w.Before)
	if err != nil {
		return err.Error()
	}
	after, err := world.As[run](w.After)
	if err != nil {
		return err.Error()
	}
	was := ptr.Deref(before.Status.Job, Ref{})
	is := ptr.Deref(after.Status.Job, Ref{})
	switch {
	case was.UID != "" && was.UID != is.UID:
		return "the recorded Job changed"
	case before.Status.End != "" && before.Status.End != after.Status.End:
		return "the end " + before.Status.End + " became " + after.Status.End
	case before.Status.End == after.Status.End || after.Status.End == string(Cancelled):
		return ""
	case after.Status.End == lostEnd && is.UID == f.job && f.outcome != "" && !m.mayLose():
		return "a Job was lost, although it had finished"
	case after.Status.End != lostEnd && (is.UID != f.job || Outcome(after.Status.End) != f.outcome):
		return "the end " + after.Status.End + " is not the end of the Job"
	}
	return ""
}

// mayLose reports whether the result of a Job can be lost before its record: a
// person deletes a Job that is not held, or an outage is longer than the TTL of
// a policy or of an earlier version.
func (m runModel) mayLose() bool {
	switch {
	case m.policy > 0, m.jobName != "":
		return m.budgets.Crashes+m.budgets.Faults > 0
	case m.hold != "":
		return false
	}
	return len(m.acts) > 0
}

// right returns what is missing at the end of a world without faults.
func (m runModel) right(s *world.Store, _ runFacts) string {
	job := m.decode(s.Object(m.job()))
	owner := s.Object(theRun)
	if owner == nil {
		if job != nil {
			return "the run is gone, and its Job stays"
		}
		return ""
	}
	r, err := world.As[run](owner)
	if err != nil {
		return err.Error()
	}
	ref := ptr.Deref(r.Status.Job, Ref{})
	isUnknown := job != nil && job.UID != ref.UID && (ref.UID != "" || m.isUncached)
	if isUnknown && r.Status.End != "" {
		job = nil // a stalled request created it
	}
	switch {
	case s.Object(theEarlier) != nil:
		return "" // the run waits for a person
	case ptr.Deref(r.Spec.Suspend, false) && r.Status.End == "":
		if job == nil || !ptr.Deref(job.Spec.Suspend, false) {
			return "the Job is not suspended"
		}
		return ""
	case r.Status.End == "":
		return "the run has not ended"
	case job == nil:
		return ""
	case m.hold != "" && slices.Contains(job.Finalizers, m.hold):
		return "the Job is still held"
	case StateOf(job).State != Finished:
		return "the Job of a run that has ended still runs"
	case job.Spec.TTLSecondsAfterFinished == nil:
		return "the Job has no final TTL"
	}
	return ""
}
