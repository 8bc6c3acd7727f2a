// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// The calls of a replica of the small world.

// restart begins a process with full caches and no memory.
func (w *world) restart(i int) {
	w.replicas[i] = simReplica{ownerAt: w.ownersN, jobAt: w.changesN}
}

// cached is the Job that a replica's cache has under the name after some of the
// changes.
func (w *world) cached(r *simReplica, owner, at int8) simAnswer {
	unknown := w.rules.nowhere && r.copied.job == 0
	if !w.rules.watches() || unknown {
		return simAnswer{}
	}
	jobs := w.known
	for _, c := range w.changes[:at] {
		jobs[c.index] = c.job
	}
	for i := range jobs {
		if jobs[i].exists && w.shareName(jobs[i].owner, owner) {
			return simAnswer{index: int8(i), job: w.stripped(jobs[i]), by: owner} //nolint:gosec // few
		}
	}
	return simAnswer{}
}

// stripped is a Job as the informer stores it.
func (w *world) stripped(job simJob) simJob {
	if w.rules.strips {
		job.annotated = false
		job.released = false
		job.held = false
	}
	return job
}

// hear brings the events of Jobs up to one of them.
func (w *world) hear(r *simReplica, until int8) {
	for r.jobAt < until {
		c := w.changes[r.jobAt]
		before := w.before(r.jobAt, c.index)
		r.jobAt++
		if w.rules.watches() {
			w.handle(r, c, before)
		}
	}
}

// before is what the watch said of a Job before an event.
func (w *world) before(at, index int8) simJob {
	for i := at - 1; i >= 0; i-- {
		if w.changes[i].index == index {
			return w.changes[i].job
		}
	}
	return w.known[index]
}

// begin begins a call with what the caches have. The handlers may be behind the
// cache, and may receive further events after it was read.
func (w *world) begin(i int, cached, heard int8) {
	r := &w.replicas[i]
	r.copied = w.owners[r.ownerAt-1]
	if r.copied.uid == 0 {
		r.copied = simOwner{}
		return
	}
	r.recent = r.copied.recent
	r.copied.recent = false
	r.stale = r.ownerAt != w.ownersN
	o := r.copied
	if o.job == 0 && w.rules.named {
		r.places[o.uid].known = true
	}
	shown := w.cached(r, o.uid, cached)
	r.m = w.rules.begin(beginning{o, shown, w.remembers(r, o.job), w.young, r.recent})
	w.hear(r, heard)
	r.calls = true
	w.advance(i)
}

// advance takes a call to its next request, or to its end.
func (w *world) advance(i int) {
	r := &w.replicas[i]
	did := w.rules.next(r.m, w.remembers(r, w.rules.machine(r.m).job))
	w.keep(r, did)
	if w.rules.machine(r.m).asks == requestNone {
		w.finish(i)
	}
}

// answer hands an answer to the call, and takes it on.
func (w *world) answer(i int, a simAnswer) {
	r := &w.replicas[i]
	w.count(r)
	if r.asked > mostRequests || r.builds > 1 {
		w.wrong = tooManyRequests
	}
	w.note(r, a)
	did := w.rules.answer(r.m, w.remembers(r, w.rules.machine(r.m).job), a)
	w.keep(r, did)
	w.advance(i)
}

// note keeps what the rules need of an answer.
func (w *world) note(r *simReplica, a simAnswer) {
	asks := w.rules.machine(r.m).asks
	r.reply = replyGood
	switch a.verdict {
	case verdictDone, verdictGone, verdictTaken:
		r.newest = newest{a.index, a.job.finished, a.job.deleting}
		if asks == requestRelease {
			r.sent = w.rules.shown.of(w.rules.machine(r.m).cached)
		}
		return
	case verdictUnknown:
		r.reply = replyNone
	case verdictDenied:
		r.denied++
		r.reply = replyRefused
		if asks == requestMark || asks == requestRaise {
			r.reply = replyDenied
		}
	case verdictInvalid:
		r.reply = replyRefused
		if r.touched {
			return
		}
		r.denied++
	default:
		r.reply = replyRefused
	}
	r.terminates = r.terminates || a.verdict == verdictTerminating
	r.failed++
}

// mostRequests is how many requests a call makes at most.
const mostRequests = 8

// count counts the requests of a call.
func (w *world) count(r *simReplica) {
	switch w.rules.machine(r.m).asks {
	case requestBuild: // the caller's code
		r.builds++
		return
	case requestOwner:
		r.reads++
	default:
	}
	r.asked++
}

// finish does what the caller does with the result.
func (w *world) finish(i int) {
	r := &w.replicas[i]
	m := w.rules.machine(r.m)
	w.checkCall(r)
	r.waits = m.failure == failureNone && m.found.again == againSettled
	if m.failure != failureNone {
		w.idle(r)
		return
	}
	next := w.result(r)
	w.checkEnd(r)
	if next == r.copied {
		w.idle(r)
		return
	}
	copied := r.copied
	stale := r.stale
	w.idle(r)
	r.calls = true
	r.copied = copied
	r.stale = stale
	r.writes = true
	r.status = next
}

// result is the status that the caller writes.
func (w *world) result(r *simReplica) simOwner {
	m := w.rules.machine(r.m)
	next := r.copied
	next.job = m.job
	next.outcome = m.ref.outcome != ""
	next.released = m.ref.released
	if next.ending != unended {
		return next
	}
	switch {
	case m.found.state == Cancelled:
		next.ending = wasCancelled
	case m.found.state.lost():
		next.ending = wasLost
		if r.results[next.job] || w.isComing(r, next.job) {
			w.wrong = lostKnown
		}
	case next.outcome && (r.copied.outcome || !w.rules.ends):
		next.ending = succeeded
	}
	return next
}

// idle ends a call. Its rest is not part of the state.
func (w *world) idle(r *simReplica) {
	r.calls = false
	r.m = 0
	r.copied = simOwner{}
	r.recent = false
	r.stale = false
	r.over = false
	r.builds = 0
	r.reads = 0
	r.asked = 0
	r.failed = 0
	r.denied = 0
	r.reply = replyGood
	r.terminates = false
	r.touched = false
	r.edited = false
	r.agreed = false
	r.confirms = false
	r.newest = newest{}
	r.writes = false
	r.status = simOwner{}
}
