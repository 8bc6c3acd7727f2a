// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "cmp"

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
		known := m.found.state != ""
		if known != (m.failure == failureRelease) {
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
	w.checkAgain(r)
	w.checkNewest(r)
}

// isTrue reports whether a finding fits what the world has.
func (w *world) isTrue(r *simReplica, f finding) bool {
	m := w.rules.machine(r.m)
	if f.source == sourceLiveRead && r.asked == 0 {
		return false
	}
	if r.copied.released && f.state != Collected && f.state != Cancelled && f.state != Pending {
		return false
	}
	job := w.jobs[indexOf(f.job.uid)]
	switch f.state {
	case Finished:
		return f.outcome != "" && job.ended && (m.ref.outcome != "" || m.ended)
	case Active:
		return m.job != 0 && f.outcome == "" && !f.job.suspends
	case Suspended:
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

// checkAgain holds the time of the next call to its rule: it is soon if
// something is left to do, later if no event announces the next change, and
// otherwise left to the events.
func (w *world) checkAgain(r *simReplica) {
	m := w.rules.machine(r.m)
	is := m.found.again
	due := m.ref.outcome != "" && !m.ref.released && !r.copied.outcome || w.isUnwatched(r)
	shown := m.cached.uid != "" && m.cached.uid == m.found.job.uid
	switch {
	case m.found.state == Pending:
		w.checkPendingAgain(r)
	case due:
		if is == againEvent {
			w.wrong = noReturn
		}
	case m.found.state == Active, m.found.state == Suspended:
		if is != againEvent && shown {
			w.wrong = tooSoon
		}
	case m.found.state == Finished:
		if is != againEvent && m.ref.released {
			w.wrong = tooSoon
		}
	}
}

// checkPendingAgain holds the time of the next call to its rule while the state
// of the Job is not known.
func (w *world) checkPendingAgain(r *simReplica) {
	m := w.rules.machine(r.m)
	is := m.found.again
	if is == againEvent {
		w.wrong = noReturn
	}
	if is == againLater && w.gap&fromBackup == 0 {
		w.wrong = noReturn
	}
	returned := w.rules.fate(r.pasts[m.job]) == fateReturned
	if is != againLater && m.found.changed && returned {
		w.wrong = tooSoon // the caller's cache may be older than the restore
	}
}

// checkEnd holds a call that returns the end of a run to its rules. The owner
// is read after a loss was found and before it is returned first. Once its
// Job is released, the end is recorded. After the delete event of such a Job a
// late copy of the owner does not cause another report.
func (w *world) checkEnd(r *simReplica) {
	m := w.rules.machine(r.m)
	ends := m.found.state == Cancelled || m.found.outcome != "" || m.found.state.lost()
	if m.job == 0 || m.ended || !ends {
		return
	}
	if m.found.state.lost() {
		if !r.confirms && !r.lost.has(m.job) {
			w.wrong = unconfirmed
		}
		r.lost.add(m.job)
	}
	again := m.found.source == sourceTombstone && !r.copied.outcome && r.freed.has(m.job)
	if again && w.gap&fromBackup == 0 {
		w.wrong = endedAgain
	}
	r.said.add(m.job)
}

// checkNewest holds a result to its rule: it is the newest copy of the Job that
// the call has read. Of a run that has ended it does not matter.
func (w *world) checkNewest(r *simReplica) {
	m := w.rules.machine(r.m)
	job := m.found.job
	other := r.newest.job == 0 || indexOf(job.uid) != r.newest.job
	if m.ended || other || w.jobs[r.newest.job].foreign {
		return
	}
	if r.newest.finished != (job.state == Finished) || r.newest.deleting != job.deleting {
		w.wrong = oldAnswer
	}
}

// isPending reports whether a call may not know yet what happened to a Job: an
// event may come, or the caller's copy of the owner is late.
func (w *world) isPending(r *simReplica, f finding) bool {
	m := w.rules.machine(r.m)
	switch {
	case f.source == sourceTombstone:
		unrecorded := r.places[r.copied.uid].job
		return w.jobs[cmp.Or(m.job, unrecorded)].released
	case r.asked == 0:
		return w.rules.informer
	case f.changed && r.agreed && m.job != 0:
		return false
	case f.changed:
		return r.stale || w.gap&fromBackup != 0 || r.newest.job == 0
	case f.source == sourceLiveRead:
		return m.ended
	}
	return true
}

// isComing reports whether the delete event of a finished Job is on the way.
func (w *world) isComing(r *simReplica, job int8) bool {
	for _, c := range w.changes[r.jobAt:w.changesN] {
		ends := c.index == job && !c.job.exists && c.job.finished && !c.job.foreign
		if ends {
			return w.rules.watches() && w.gap&fromBackup == 0
		}
	}
	return false
}

// isUnwatched reports whether a Job still changes, and no event reports the
// change.
func (w *world) isUnwatched(r *simReplica) bool {
	m := w.rules.machine(r.m)
	calls := w.rules.informer && m.job != r.copied.job // the write of the Ref does
	if w.rules.watches() || calls || m.job == 0 || r.copied.ending != unended {
		return false
	}
	return m.found.state == Active || m.found.state == Suspended
}

// checkError holds the error of a call to its rule: it is the error of a
// request, and no request without an answer counts as done. The TTL of a Job
// that has finished does not matter.
func (w *world) checkError(r *simReplica) {
	m := w.rules.machine(r.m)
	switch m.failure {
	case failureNone:
		unbuilt := m.deleting && m.found.state == NotCreated // it goes with its owner
		if r.reply == replyNone && !unbuilt && m.found.state != Finished {
			w.wrong = noError
		}
	case failureRequest:
		if r.reply == replyGood || r.reply == replyDenied {
			w.wrong = falseError
		}
	case failureBuild, failureCreate, failureRelease:
		unread := m.failure == failureBuild && r.reply == replyNone && r.asked > 0
		job := w.jobs[w.named(r.copied.uid)]
		exists := m.failure == failureCreate && job.exists && !job.foreign && job.owner == r.copied.uid
		if r.failed == 0 || exists || unread || r.terminates {
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
// left to do for a Job that the cache shows whole, the Ref is released.
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
	calm := w.left == w.rules.start && w.gap == 0 && !w.rules.denies
	if calm && r.copied.job == 0 {
		w.wrong = needlessRead
	}
}

// checkShown holds a read of a Job that exists to its rule: the cache did not
// show it whole. A run that has ended waits for the delete event of its Job
// before it reads that live.
func (w *world) checkShown(r *simReplica, read jobFacts) {
	m := w.rules.machine(r.m)
	if m.stage != stageFind {
		return
	}
	whole := read.control == controlOwner && read.annotated && !read.ttl.early
	searched := m.job == 0 || m.ref.uid == read.uid
	if m.cached == read && whole && searched {
		w.wrong = needlessLook
	}
	again := m.ended && r.lost.has(m.job) && !w.rules.finalizer && w.gap&fromBackup == 0
	if again && read.uid == "" {
		w.wrong = needlessLook // the loss was confirmed before
	}
	first := m.ended && r.pasts[m.job] != 0 && w.rules.pasts.values[r.pasts[m.job]].absent.IsZero()
	if first && read.uid == "" && w.isComing(r, m.job) {
		w.wrong = needlessLook
	}
}

// checkRecorded holds the release or the deletion of a Job to its rule: the
// caller's copy suffices only with Request.RecordedAt.
func (w *world) checkRecorded(r *simReplica) {
	believed := r.recent && !w.rules.undated
	if r.reads == 0 && (!believed || w.rules.machine(r.m).adopted) {
		w.wrong = unread
	}
}

// checkSpec holds a suspension and its end to their rule: an older spec of the
// owner does not undo what a newer one has caused. To cancel is final.
func (w *world) checkSpec(r *simReplica) {
	if r.edited && !r.copied.cancel {
		w.wrong = olderSpec
	}
}

// checkResent holds a release to its rule: it is not sent again for a copy in
// the cache that may not show it yet.
func (w *world) checkResent(r *simReplica) {
	m := w.rules.machine(r.m)
	if m.found.source == sourceSeen && r.sent != 0 && r.sent == w.rules.shown.of(m.cached) {
		w.wrong = needlessPatch
	}
}

// checkNotEnded holds a creation to its rule: a replica that has seen the end
// of a Job before its Ref was written does not create it again.
func (w *world) checkNotEnded(r *simReplica) {
	for i, heard := range r.results {
		heard = heard || r.said.has(int8(i)) && !w.jobs[i].foreign //nolint:gosec // few
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
