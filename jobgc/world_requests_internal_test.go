// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// The API server of the small world.

// serve does the request of a replica, and returns its answer.
func (w *world) serve(i int) answer {
	r := &w.replicas[i]
	owner := r.copied.uid
	switch r.asks {
	case requestOwner:
		return answer{verdict: verdictDone, owner: w.readOwner(r)}
	case requestRead:
		job := w.named(owner)
		if job == 0 {
			return answer{verdict: verdictGone}
		}
		facts := w.facts(job, w.jobs[job], owner)
		return answer{verdict: verdictDone, job: facts, same: facts == r.m.found.job}
	case requestCreate:
		return w.create(owner)
	case requestDelete:
		return w.deleteFor(r)
	default:
		return w.patch(r)
	}
}

func (w *world) readOwner(r *simReplica) owner {
	o := w.owner()
	if o.uid == 0 || o.uid != r.copied.uid {
		return owner{read: true}
	}
	return owner{read: true, exists: true, done: o.ending != unended, edited: o.gen != r.copied.gen, ref: o.record()}
}

// create creates the Job of an owner.
func (w *world) create(by int8) answer {
	if w.named(by) != 0 {
		return answer{verdict: verdictTaken}
	}
	for i := int8(1); i < mostJobs; i++ {
		if w.jobs[i].owner != 0 {
			continue
		}
		w.jobs[i] = simJob{
			owner: by, exists: true, ran: true, annotated: true, held: w.set.finalizer, orphan: w.owner().uid != by,
		}
		if w.jobs[i].orphan {
			w.gap = true // the garbage collector takes it, but it may have begun
		}
		w.change(i)
		return answer{verdict: verdictDone, job: w.facts(i, w.jobs[i], by)}
	}
	w.wrong = "the world is too small for its Jobs"
	return answer{verdict: verdictUnknown}
}

// patch applies a patch to the Job that it was made for.
func (w *world) patch(r *simReplica) answer {
	i := w.named(r.copied.uid)
	if i == 0 {
		return answer{verdict: verdictGone}
	}
	seen := r.m.found.job
	job := &w.jobs[i]
	before := *job
	if jobUIDs[i] != seen.uid {
		return answer{verdict: verdictInvalid}
	}
	switch r.asks {
	case requestMark:
		if before.annotated {
			return answer{verdict: verdictInvalid}
		}
		job.annotated = true
		job.early = false
		job.held = w.set.finalizer
	case requestRaise:
		job.early = false
	case requestSuspend:
		job.suspends = true
	case requestResume:
		job.suspends = false
	case requestRelease:
		if seen.held && !before.held {
			return answer{verdict: verdictInvalid} // the test of the finalizer
		}
		due := seen.state == Finished && !seen.ttl.unset && !seen.released && !seen.deleting
		job.released = before.released || due || seen.state == Finished && seen.held
		job.held = before.held && !seen.held
		w.checkRelease(i)
	default:
	}
	if *job != before {
		job.exists = !job.deleting || job.held
		w.change(i)
	}
	if !job.exists {
		return answer{verdict: verdictGone}
	}
	return answer{verdict: verdictDone, job: w.facts(i, *job, r.copied.uid)}
}

// checkRelease holds a release to its rule.
func (w *world) checkRelease(i int8) {
	o := w.owner()
	if o.uid == w.jobs[i].owner && o.ending == unended {
		w.wrong = "released before the record"
	}
}

func (w *world) deleteFor(r *simReplica) answer {
	i := w.named(r.copied.uid)
	if i == 0 || jobUIDs[i] != r.m.ref.uid {
		return answer{verdict: verdictGone}
	}
	o := w.owner()
	if o.uid == w.jobs[i].owner && o.ending != wasCancelled {
		w.wrong = "deleted a Job whose cancellation is not recorded"
	}
	w.remove(i)
	return answer{verdict: verdictDone}
}

// commit writes the status, unless the owner has changed.
func (w *world) commit(r *simReplica) {
	if w.ownersN != r.version {
		return
	}
	before := w.owner()
	after := r.status
	job := w.jobs[after.job]
	if before.ending == unended && after.ending == succeeded && !job.ended {
		w.wrong = "recorded an outcome that the Job does not have"
	}
	if before.ending == unended && after.ending == wasLost {
		if job.exists && !job.deleting {
			w.wrong = "a Job that exists is called lost"
		}
		if !job.taken {
			w.wrong = "a Job is lost that was not deleted"
		}
	}
	if before.job != 0 && before.job != after.job {
		w.wrong = "another Job was recorded"
	}
	w.store(after)
}

// answer hands an answer to the call, and takes it on.
func (w *world) answer(i int, a answer) {
	r := &w.replicas[i]
	if r.asks == requestOwner {
		r.fresh = true
	}
	w.remember(r)
	r.m = r.m.answer(a)
	w.keep(r)
	w.advance(i)
}

// twice reports whether the work of an owner ran twice.
func (w *world) twice() bool {
	var ran [mostOwners]int
	for _, job := range w.jobs {
		if job.ran {
			ran[job.owner]++
		}
	}
	return ran[1] > 1 || ran[2] > 1
}
