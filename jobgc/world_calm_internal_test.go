// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// The small world without faults, and the rules for its end.

// still is the world without what only the search needs.
func (w world) still() world {
	w.left = budget{switches: 1} // so that both replicas act
	w.last = 0
	w.again = false
	w.young = false
	w.forgetTimes()
	w.tidy()
	return w
}

// calm does one step without faults: a request, what the server does, or a
// call. It returns w itself if the world rests.
func (w world) calm() world {
	still := w.still()
	if still.state != w.state {
		return still
	}
	for i := range w.replicas {
		if w.replicas[i].calls {
			w.proceed(i)
			return w.still()
		}
	}
	w.late = 0
	for i := int8(1); i < mostJobs; i++ {
		if !w.rules.unwritten {
			w.work(i)
		}
		if w.jobs[i].suspends {
			w.stop(i)
		}
		if w.jobs[i].exists && w.orphan(i) {
			w.collect(i)
		}
	}
	for i := range w.replicas {
		w.callAgain(i)
		w.age(&w.replicas[i], pastAged)
		w.call(i)
	}
	return w.still()
}

// callAgain calls as long as the calls wait for a delete event. Between two of
// them is a bit more than half of the time that they wait.
func (w *world) callAgain(i int) {
	r := &w.replicas[i]
	for range 4 {
		w.call(i)
		if !r.waits {
			return
		}
		w.age(r, pastHalf)
	}
	w.wrong = unchanging
}

// call is a whole call, with caches that are up to date.
func (w *world) call(i int) {
	r := &w.replicas[i]
	r.waits = false
	r.ownerAt = w.ownersN
	w.hear(r, w.changesN)
	w.begin(i, w.changesN, w.changesN)
	for r.calls && w.wrong == noRule {
		w.proceed(i)
	}
}

// proceed does the next request of a call.
func (w *world) proceed(i int) {
	r := &w.replicas[i]
	if r.writes {
		if !w.rules.unwritten {
			w.commit(r)
		}
		w.idle(r)
		return
	}
	w.answer(i, w.serve(i))
}

// check returns what is wrong with a world.
func (w world) check() string {
	if w.wrong == noRule && w.gap == 0 && w.twice() {
		return "the work ran twice"
	}
	return w.wrong.String()
}

// mark names the worlds in which a documented gap let the work run twice.
func (w world) mark() string {
	if w.gap != 0 && w.twice() {
		return w.gap.String()
	}
	return ""
}

// right returns what is wrong with a world that rests.
func (w world) right() string {
	o := w.owner()
	if o.uid == 0 {
		return ""
	}
	if w.hindered(o) {
		return ""
	}
	if w.rules.unwritten {
		return w.rightUnwritten(o)
	}
	if o.ending == unended {
		return w.rightUnended(o)
	}
	for i := range w.jobs {
		job := w.jobs[i]
		if !job.exists || job.owner != o.uid {
			continue
		}
		wrong := w.rightJob(o, int8(i), job) //nolint:gosec // few
		if wrong != "" {
			return wrong
		}
	}
	if w.asks() {
		return "a call makes a request for a run that rests"
	}
	return ""
}

// rightUnended returns what is wrong with a run that has not ended.
func (w world) rightUnended(o simOwner) string {
	if o.suspend == asksSuspend || w.rules.barred {
		return ""
	}
	if o.deleting && o.job == 0 && w.named(o.uid) == 0 {
		return ""
	}
	return "the run has not ended"
}

// rightUnwritten returns what is wrong with the Job of an owner whose status
// cannot be written: the Job must still follow the spec.
func (w world) rightUnwritten(o simOwner) string {
	job := w.jobs[w.named(o.uid)]
	steers := job.owner == o.uid && !job.finished && !job.deleting && !o.deleting
	switch {
	case !steers:
		return ""
	case o.cancel && !job.suspends:
		return "the Job of a cancelled run still runs"
	case o.cancel:
		return ""
	case o.suspend == asksSuspend && !job.suspends:
		return "the Job of a suspended run still runs"
	case o.suspend == asksRun && job.suspends:
		return "the Job of a resumed run does not run"
	}
	return ""
}

// asks reports whether the next call makes a request. A creation without an
// answer may still come: each call looks for it.
func (w world) asks() bool {
	r := &w.replicas[0]
	o := w.owner()
	unsure := o.job == 0 && r.places[o.uid].unsure
	if unsure || w.rules.denies {
		return false
	}
	w.begin(0, w.changesN, w.changesN)
	return w.rules.machine(r.m).asks != requestNone
}

// hindered reports whether others have taken over the Job of an owner, or its
// name. Step returns an error then.
func (w *world) hindered(o simOwner) bool {
	for i := range w.jobs {
		job := w.jobs[i]
		if job.exists && job.foreign && w.shareName(job.owner, o.uid) {
			return true
		}
	}
	return false
}

// isHidden reports whether no cache shows a Job that the owner has not
// recorded, and no replica looks for it.
func (w *world) isHidden(o simOwner) bool {
	looks := w.replicas[0].places[o.uid].unsure || w.replicas[1].places[o.uid].unsure
	return (w.rules.nowhere || !w.rules.watches()) && !looks
}

// rightJob returns what is wrong with a Job whose run has ended.
func (w world) rightJob(o simOwner, i int8, job simJob) string {
	switch {
	case w.rules.denies && !job.foreign:
		return "" // its release is refused
	case o.job != i && w.gap != 0:
		return "" // a second one
	case o.job != i && job.late && w.isHidden(o):
		return "" // it came after the end of its run
	case o.job != i:
		return "a Job is left behind"
	case job.held:
		return "the Job is still held"
	case o.ending == wasCancelled && job.finished:
		return ""
	case o.ending == wasCancelled && w.rules.deletes:
		return "the Job of a cancelled run is still there"
	case o.ending == wasCancelled && !job.suspends:
		return "the Job of a cancelled run still runs"
	case o.ending == succeeded && w.rules.ttl != "none" && !job.released:
		return "the Job has no final TTL"
	}
	return ""
}
