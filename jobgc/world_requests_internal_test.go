// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// The API server of the small world.

// serve does the request of a replica, and returns its answer.
func (w *world) serve(i int) simAnswer {
	r := &w.replicas[i]
	asks := w.rules.machine(r.m).asks
	owner := r.copied.uid
	switch asks {
	case requestBuild:
		return simAnswer{verdict: verdictDone}
	case requestOwner:
		return w.readOwner(r)
	case requestRead:
		if w.rules.machine(r.m).nowhere {
			w.wrong = needlessRead // it has no namespace
		}
		a := w.answerOf(w.named(owner), owner)
		w.checkShown(r, w.rules.facts(a))
		if a.index == 0 {
			w.checkRead(r)
			return simAnswer{verdict: verdictGone}
		}
		a.same = w.rules.facts(a) == w.rules.machine(r.m).found.job && !r.touched
		r.touched = false
		return a
	case requestCreate:
		if r.builds == 0 {
			w.wrong = createdUnbuilt
		}
		w.checkNotEnded(r)
		return w.create(owner, r.over)
	case requestDelete:
		return w.deleteFor(r)
	default:
		return w.patch(r, asks)
	}
}

// answerOf is the answer of a request that returns a Job.
func (w *world) answerOf(i, owner int8) simAnswer {
	return simAnswer{verdict: verdictDone, index: i, job: w.jobs[i].seen(), by: owner}
}

func (w *world) readOwner(r *simReplica) simAnswer {
	a := simAnswer{verdict: verdictDone, read: true}
	o := w.owner()
	o.recent = false
	m := w.rules.machine(r.m)
	believed := r.recent && !w.rules.undated
	if believed && m.ended && !m.returned && !m.adopted {
		w.wrong = needlessRead
	}
	r.agreed = o == r.copied
	r.confirms = m.found.state.lost()
	r.edited = o.uid != r.copied.uid || o.gen != r.copied.gen
	if o.uid == r.copied.uid {
		a.owner = o
		a.gen = r.copied.gen
	}
	return a
}

// create creates the Job of an owner. Over says that its name was freed after
// the owner was read.
func (w *world) create(by int8, over bool) simAnswer {
	if w.named(by) != 0 {
		return simAnswer{verdict: verdictTaken}
	}
	for i := int8(1); i < mostJobs; i++ {
		if w.jobs[i].owner != 0 {
			continue
		}
		w.jobs[i] = simJob{owner: by, exists: true, annotated: true, held: w.rules.finalizer}
		w.ran[by] = min(2, w.ran[by]+1)
		if w.rules.barred {
			w.wrong = createdBarred
		}
		if over {
			w.gap |= stalled
		}
		if w.owner().uid != by {
			w.gap |= recreated // the garbage collector takes it, but it may have begun
		}
		w.change(i)
		return w.answerOf(i, by)
	}
	w.wrong = tooFewJobs
	return simAnswer{verdict: verdictUnknown}
}

// patch applies a patch to the Job that it was made for.
func (w *world) patch(r *simReplica, asks request) simAnswer {
	i := w.named(r.copied.uid)
	if i == 0 {
		return simAnswer{verdict: verdictGone}
	}
	seen := &w.rules.machine(r.m).found.job
	job := &w.jobs[i]
	before := *job
	if w.rules.denies && asks != requestSuspend && asks != requestResume {
		return simAnswer{verdict: verdictDenied}
	}
	if jobUIDs[i] != seen.uid {
		return simAnswer{verdict: verdictInvalid}
	}
	switch asks {
	case requestMark:
		if before.annotated {
			return simAnswer{verdict: verdictInvalid}
		}
		job.annotated = true
		job.early = false
		job.held = w.rules.finalizer
	case requestRaise:
		job.early = false
	case requestSuspend:
		w.checkSpec(r)
		job.suspends = true
	case requestResume:
		w.checkSpec(r)
		job.suspends = false
		job.stopped = false
	case requestRelease:
		w.checkRecorded(r)
		w.checkResent(r)
		if seen.held && !before.held {
			return simAnswer{verdict: verdictInvalid} // the test of the finalizer
		}
		w.release(i, seen)
	default:
	}
	current := w.rules.facts(w.answerOf(i, r.copied.uid)) == *seen
	if *job == before && current {
		w.wrong = needlessPatch
	}
	if *job != before {
		w.leave(i)
	}
	if !job.exists {
		return simAnswer{verdict: verdictGone}
	}
	a := w.answerOf(i, r.copied.uid)
	a.early = asks == requestSuspend
	return a
}

// release applies the patch of a Job that was seen as it was.
func (w *world) release(i int8, seen *jobFacts) {
	job := &w.jobs[i]
	due := seen.state == Finished && !seen.ttl.unset && !seen.released && !seen.deleting
	job.released = job.released || due || seen.state == Finished && seen.held
	job.held = job.held && !seen.held
	w.checkRelease(i)
}

// checkRelease holds a release to its rule.
func (w *world) checkRelease(i int8) {
	o := w.owner()
	if o.uid == w.jobs[i].owner && !o.ends() {
		w.wrong = releasedEarly
	}
}

func (w *world) deleteFor(r *simReplica) simAnswer {
	i := w.named(r.copied.uid)
	if i == 0 || i != w.rules.machine(r.m).job {
		return simAnswer{verdict: verdictGone}
	}
	o := w.owner()
	if o.uid == w.jobs[i].owner && o.ending != wasCancelled {
		w.wrong = deletedEarly
	}
	w.checkRecorded(r)
	w.remove(i)
	return simAnswer{verdict: verdictDone}
}

// commit writes the status, unless the owner has changed.
func (w *world) commit(r *simReplica) {
	if r.stale {
		return
	}
	before := w.owner()
	after := r.status
	after.recent = after.ending != unended
	job := w.jobs[after.job]
	if before.ending == unended && after.ending == succeeded && !job.ended {
		w.wrong = wrongOutcome
	}
	if before.ending == unended && after.ending == wasLost {
		w.checkLost(job)
	}
	if before.job != 0 && before.job != after.job {
		w.wrong = otherRecorded
	}
	if after.released && job.exists && !job.foreign && !w.isReleased(job) {
		w.wrong = closedEarly
	}
	if before.job == 0 && after.job != 0 {
		w.young = true
	}
	w.store(after)
}

// checkLost holds the record of a loss to its rules.
func (w *world) checkLost(job simJob) {
	if job.exists && !job.deleting {
		w.wrong = lostWhileThere
	}
	if !job.taken {
		w.wrong = lostUndeleted
	}
}

// twice reports whether the work of an owner ran twice.
func (w *world) twice() bool {
	orphan := w.gap&recreated != 0 && w.ran[1] > 0 && w.ran[2] > 0
	return orphan || w.ran[1] > 1 || w.ran[2] > 1
}
