// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// What a call of the small world may ask for and return.

// isReleased reports whether nothing is left to do for a Job.
func (w *world) isReleased(job simJob) bool {
	final := job.released || w.rules.ttl == "none" || !job.finished || job.deleting
	return final && !job.held
}

// checkCall holds a call that ends to the rules of its requests and its result.
func (w *world) checkCall(r *simReplica) {
	m := w.rules.machine(r.m)
	if r.reads > 2 {
		w.wrong = tooManyReads
	}
	w.checkError(r)
	if m.failure != failureNone {
		known := m.found != finding{}
		if known && m.failure != failureRelease {
			w.wrong = falseObservation
		}
		return
	}
	if m.found.state == "" {
		w.wrong = falseObservation
	}
	deletes := m.found.state == Cancelled && m.found.job.deleting
	reports := m.found.state.lost() || m.found.changed || m.found.state == Pending || deletes
	only := r.reads > 0 && r.asked == r.reads // it may create nothing, or find nothing to release
	current := w.rules.facts(w.answerOf(m.job, r.copied.uid)) == m.found.job
	shown := current && m.found.job.uid != ""
	believes := w.gap&fromBackup == 0
	if believes && only && shown && r.copied.job != 0 && !r.stale && !reports {
		w.wrong = needlessRead
	}
	if !w.isTrue(r, m.found) {
		w.wrong = falseObservation
	}
	w.checkAdopted(r)
	w.checkClosed(r)
	waits := m.found.again == againEvent
	due := m.ref.outcome != "" && !m.ref.released && !r.copied.outcome
	if waits && (m.found.state == Pending || due || w.isUnwatched(r)) {
		w.wrong = noReturn
	}
}

// isTrue reports whether a finding fits what the world has.
func (w *world) isTrue(r *simReplica, f finding) bool {
	m := w.rules.machine(r.m)
	if f.source == sourceLiveRead && r.asked == 0 {
		return false
	}
	job := w.jobs[indexOf(f.job.uid)]
	switch f.state {
	case Finished:
		return f.outcome != "" && job.ended
	case Active, Suspended:
		return m.job != 0 && f.outcome == ""
	case Cancelled:
		stops := f.job.uid == "" || f.job.suspends || f.job.deleting
		return r.copied.cancel && stops
	case Collected:
		return m.job != 0 && (m.ref.outcome != "" || r.copied.ending != unended || m.ref.released)
	case NotCreated:
		wanted := !m.ended && !m.deleting && !f.ending
		return m.job == 0 && !wanted
	case Pending:
		return w.isPending(r, f)
	default:
		return true
	}
}

// isPending reports whether a call may not know yet what became of a Job: an
// event may come, or the caller's copy of the owner is late.
func (w *world) isPending(r *simReplica, f finding) bool {
	m := w.rules.machine(r.m)
	switch {
	case f.source == sourceTombstone:
		return w.jobs[m.job].released
	case r.asked == 0:
		return w.rules.informer
	case f.source == sourceLiveRead:
		return f.changed || m.ended
	}
	return true
}

// isComing reports whether the delete event of a finished Job is on the way.
func (w *world) isComing(r *simReplica, job int8) bool {
	for _, c := range w.changes[r.jobAt:w.changesN] {
		ends := c.index == job && !c.job.exists && c.job.finished && !c.job.foreign
		if ends {
			return w.rules.informer && w.gap&fromBackup == 0
		}
	}
	return false
}

// isUnwatched reports whether a Job still changes, and no event says so.
func (w *world) isUnwatched(r *simReplica) bool {
	m := w.rules.machine(r.m)
	if w.rules.informer || m.job == 0 || r.copied.ending != unended {
		return false
	}
	return m.found.state == Active || m.found.state == Suspended
}

// checkError holds the error of a call to its rule: it is that of a request,
// and no request without an answer counts as done. The TTL of a Job that has
// finished does not matter.
func (w *world) checkError(r *simReplica) {
	m := w.rules.machine(r.m)
	switch m.failure {
	case failureNone:
		unbuilt := m.deleting && m.found.state == NotCreated // it goes with its owner
		if r.silent && !unbuilt && m.found.state != Finished {
			w.wrong = noError
		}
	case failureRequest:
		if !r.refused {
			w.wrong = falseError
		}
	case failureBuild, failureCreate, failureRelease:
		unread := m.failure == failureBuild && r.silent && r.asked > 0
		job := w.jobs[w.named(r.copied.uid)]
		exists := m.failure == failureCreate && job.exists && !job.foreign && job.owner == r.copied.uid
		if r.failed == 0 || exists || unread {
			w.wrong = falseError
		}
	default:
	}
}

// checkAdopted holds a call that finds a Job which the owner has not recorded
// to its rule: the Job gets what Step gives to each Job, unless the API server
// denies it.
func (w *world) checkAdopted(r *simReplica) {
	m := w.rules.machine(r.m)
	job := w.jobs[m.job]
	adopts := r.copied.job == 0 && job.exists && !job.foreign
	if !adopts || job.deleting || job.released {
		return
	}
	lacks := int8(0)
	if !job.annotated {
		lacks++
	}
	if job.early && !job.finished {
		lacks++
	}
	if lacks > r.denied {
		w.wrong = adoptedUnmarked
	}
}

// checkClosed holds a call that records an outcome to its rule: if nothing is
// left to do for a Job that the cache shows whole, the Ref says so.
func (w *world) checkClosed(r *simReplica) {
	m := w.rules.machine(r.m)
	job := m.found.job
	records := m.ref.outcome != "" && !r.copied.outcome
	whole := job.annotated && job.ttl.final && !job.released
	if records && whole && !job.held && !w.rules.finalizer && !m.ref.released {
		w.wrong = unclosed
	}
}

// checkRead holds a read of a Job that does not exist to its rule: if nothing
// has gone wrong, the call knew that.
func (w *world) checkRead(r *simReplica) {
	if w.left == w.rules.start && w.gap == 0 && r.copied.job == 0 {
		w.wrong = needlessRead
	}
}

// checkRecorded holds the release or the deletion of a Job to its rule: the
// caller's word suffices only with Request.Recorded.
func (w *world) checkRecorded(r *simReplica) {
	if r.reads == 0 && w.rules.unclaimed {
		w.wrong = unread
	}
}

// checkNotEnded holds a creation to its rule: a replica that has heard of the
// end of a Job before its Ref was written does not create it again.
func (w *world) checkNotEnded(r *simReplica) {
	for i, heard := range r.results {
		if heard && w.jobs[i].owner == r.copied.uid && w.gap&fromBackup == 0 {
			w.wrong = createdAgain
		}
	}
	cached := w.rules.machine(r.m).cached
	seen := cached.state == Finished && cached.control == controlOwner
	if seen || w.isComing(r, r.places[r.copied.uid].job) {
		w.wrong = createdAgain
	}
}
