// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "time"

// The small world without faults, and the rules for its end.

// still is the world without what only the search needs.
func (w world) still() world {
	w.left = budget{}
	w.last = 0
	w.backup.taken = false
	w.backup.restored = false
	w.backup.owner = simOwner{}
	w.backup.jobs = [mostJobs]simJob{}
	return w.sorted()
}

// calm does one step without faults: a request, what the server does, or a
// call. It returns w itself if the world rests.
func (w world) calm() world {
	still := w.still()
	if still != w {
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
		w.work(i)
		if w.jobs[i].exists && w.owner().uid != w.jobs[i].owner {
			w.remove(i)
		}
	}
	for i := range w.replicas {
		r := &w.replicas[i]
		r.age(time.Hour)
		r.ownerAt = w.ownersN
		w.hear(r, w.changesN)
		w.begin(i, w.changesN)
		for r.calls {
			w.proceed(i)
		}
	}
	return w.still()
}

// proceed does the next request of a call.
func (w *world) proceed(i int) {
	r := &w.replicas[i]
	if r.writes {
		w.commit(r)
		w.idle(r)
		return
	}
	w.answer(i, w.serve(i))
}

// check returns what is wrong with a world.
func (w world) check() string {
	if w.wrong == "" && w.twice() && !w.gap {
		return "the work ran twice"
	}
	return w.wrong
}

// mark names the worlds in which a documented gap let the work run twice.
func (w world) mark() string {
	if w.twice() {
		return "ran twice as documented"
	}
	return ""
}

// right returns what is wrong with a world that rests.
func (w world) right() string {
	o := w.owner()
	if o.uid == 0 {
		return ""
	}
	if o.ending == unended {
		if o.suspend == wishSuspend {
			return ""
		}
		return "the run has not ended"
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
	return ""
}

// rightJob returns what is wrong with a Job whose run has ended.
func (w world) rightJob(o simOwner, i int8, job simJob) string {
	switch {
	case o.job != i && w.gap:
		return "" // a second one
	case o.job != i:
		return "a Job is left behind"
	case job.held:
		return "the Job is still held"
	case o.ending == wasCancelled && job.finished:
		return ""
	case o.ending == wasCancelled && w.set.deletes:
		return "the Job of a cancelled run is still there"
	case o.ending == wasCancelled && !job.suspends:
		return "the Job of a cancelled run still runs"
	case o.ending == succeeded && w.set.ttl != "none" && !job.released:
		return "the Job has no final TTL"
	}
	return ""
}
