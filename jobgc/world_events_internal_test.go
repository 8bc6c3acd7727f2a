// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"
)

// What can happen in the small world.

// next yields each event that can happen.
func (w world) next(yield func(event string, after world)) {
	if w.wrong != "" {
		return
	}
	do := func(event string, change func(*world)) {
		after := w
		change(&after)
		if after != w {
			yield(event, after.sorted())
		}
	}
	for i := range w.replicas {
		w.nextOfReplica(i, do)
	}
	w.nextOfServer(do)
	if w.left.acts > 0 {
		w.nextOfOthers(func(event string, change func(*world)) {
			do(event, func(w *world) { w.left.acts--; change(w) })
		})
	}
}

type doing func(event string, change func(*world))

// nextOfReplica are the calls and the requests of a replica.
func (w world) nextOfReplica(i int, do doing) {
	r := w.replicas[i]
	used := w
	if w.last != int8(i) { //nolint:gosec // two
		if w.left.switches == 0 {
			return
		}
		used.left.switches--
		used.last = int8(i) //nolint:gosec // two
	}
	of := func(event string, change func(*world)) {
		do(fmt.Sprintf("replica %d: %s", i, event), func(w *world) {
			w.left.switches = used.left.switches
			w.last = used.last
			change(w)
		})
	}
	if w.left.crashes > 0 {
		of("crash", func(w *world) { w.left.crashes--; w.restart(i) })
	}
	if !r.calls {
		of("the lag passes", func(w *world) { w.replicas[i].age(cacheLag + time.Second) })
		of("an hour passes", func(w *world) { w.replicas[i].age(time.Hour) })
	}
	switch {
	case !r.calls:
		w.nextCalls(i, of)
	case r.writes:
		w.nextWrites(i, of)
	default:
		w.nextAnswers(i, of)
	}
}

// nextCalls are the calls. Each cache is as it was, or up to date. So is what
// the handlers have received when the call has read the caches.
func (w world) nextCalls(i int, of doing) {
	r := w.replicas[i]
	for _, owners := range slices.Compact([]int8{r.ownerAt, w.ownersN}) {
		call := func(cached, heard int8) {
			of(fmt.Sprintf("call with owner %d, Jobs %d and their events %d", owners, cached, heard), func(w *world) {
				r := &w.replicas[i]
				r.ownerAt = owners
				w.hear(r, cached)
				w.begin(i, heard)
			})
		}
		call(r.jobAt, r.jobAt)
		if r.jobAt < w.changesN {
			call(r.jobAt, w.changesN)
			call(w.changesN, w.changesN)
		}
	}
}

// nextWrites are the outcomes of a status write.
func (w world) nextWrites(i int, of doing) {
	of("write", func(w *world) {
		w.commit(&w.replicas[i])
		w.idle(&w.replicas[i])
	})
	r := w.replicas[i]
	first := r.copied.job == 0 && r.status.ending == unended
	if first {
		of("postpone the write", func(w *world) { w.idle(&w.replicas[i]) })
	}
	if w.left.faults > 0 {
		of("the write is lost", func(w *world) { w.left.faults--; w.idle(&w.replicas[i]) })
	}
}

// nextAnswers are the outcomes of a request.
func (w world) nextAnswers(i int, of doing) {
	r := w.replicas[i]
	of(string(r.asks), func(w *world) { w.answer(i, w.serve(i)) })
	of(string(r.asks)+", and events", func(w *world) {
		a := w.serve(i)
		w.hear(&w.replicas[i], w.changesN)
		w.answer(i, a)
	})
	if w.left.faults == 0 {
		return
	}
	fault := func(event string, change func(*world)) {
		of(string(r.asks)+": "+event, func(w *world) { w.left.faults--; change(w) })
	}
	fault("refused", func(w *world) { w.answer(i, answer{verdict: verdictRefused}) })
	fault("lost", func(w *world) { w.answer(i, answer{verdict: verdictUnknown}) })
	if r.asks == requestOwner || r.asks == requestRead {
		return
	}
	fault("denied", func(w *world) { w.answer(i, answer{verdict: verdictDenied}) })
	fault("done without an answer", func(w *world) {
		w.serve(i)
		w.answer(i, answer{verdict: verdictUnknown})
	})
	if r.asks == requestCreate && w.late == 0 {
		fault("done later", func(w *world) {
			w.late = w.replicas[i].copied.uid
			w.answer(i, answer{verdict: verdictUnknown})
		})
	}
}

// nextOfServer are the Job controller, the TTL controller, the garbage
// collector, and a creation that comes late.
func (w world) nextOfServer(do doing) {
	for i := int8(1); i < mostJobs; i++ {
		job := w.jobs[i]
		if !job.exists {
			continue
		}
		do(fmt.Sprintf("job %d: works", i), func(w *world) { w.work(i) })
		if job.finished && job.released && w.set.ttl != "none" {
			do(fmt.Sprintf("job %d: its TTL is over", i), func(w *world) { w.expire(i) })
		}
		if job.finished && job.early {
			do(fmt.Sprintf("job %d: its own TTL is over", i), func(w *world) { w.jobs[i].taken = true; w.open(i); w.remove(i) })
		}
		if w.owner().uid != job.owner {
			do(fmt.Sprintf("job %d: garbage collection", i), func(w *world) { w.remove(i) })
		}
	}
	if w.late != 0 {
		do("the late creation is done", func(w *world) {
			by := w.late
			w.late = 0
			w.create(by)
		})
	}
}

// work is what the Job controller does next.
func (w *world) work(i int8) {
	job := &w.jobs[i]
	if !job.exists || job.finished || job.deleting || job.suspends {
		return
	}
	job.ran = true
	job.finished = true
	job.ended = true
	w.change(i)
}

// expire deletes a Job whose final TTL is over. A long one is longer than the
// time of a creation: those that were under way have been given up.
func (w *world) expire(i int8) {
	creates := w.late != 0
	for n := range w.replicas {
		creates = creates || w.replicas[n].creates()
	}
	if w.set.ttl == "short" && creates {
		w.gap = true
	}
	if w.set.ttl == "long" {
		w.late = 0
		for n := range w.replicas {
			w.giveUp(n)
		}
	}
	w.remove(i)
}

// creates reports whether a call may create a Job for an owner that it has read
// before.
func (r *simReplica) creates() bool { return r.calls && !r.writes && r.m.ref.uid == "" }

// giveUp ends a creation whose deadline is over.
func (w *world) giveUp(i int) {
	r := &w.replicas[i]
	if r.creates() {
		w.idle(r)
	}
}

// open notes that a Job goes whose Ref may not be written.
func (w *world) open(i int8) {
	o := w.owner()
	recorded := o.uid == w.jobs[i].owner && o.job == i
	if !recorded {
		w.gap = true
	}
}

// nextOfOthers is what people and other controllers do.
func (w world) nextOfOthers(do doing) {
	o := w.owner()
	for i := int8(1); i < mostJobs; i++ {
		job := w.jobs[i]
		if job.exists && !job.deleting {
			do(fmt.Sprintf("others delete job %d", i), func(w *world) { w.jobs[i].taken = true; w.open(i); w.remove(i) })
		}
	}
	edit := func(event string, change func(*simOwner)) {
		do(event, func(w *world) {
			next := w.owner()
			change(&next)
			if next != w.owner() {
				w.store(next)
			}
		})
	}
	if o.uid != 0 {
		if !o.cancel {
			edit("others cancel the run", func(o *simOwner) { o.cancel = true; o.gen++ })
		}
		edit("others suspend the run", func(o *simOwner) { o.suspend = wishSuspend; o.gen++ })
		if o.suspend == wishSuspend {
			edit("others resume the run", func(o *simOwner) { o.suspend = wishRun; o.gen++ })
		}
		edit("others delete the run", func(o *simOwner) { *o = simOwner{} })
	}
	if o.uid < 2 && w.owners[0].uid == 1 {
		recreated := false
		for _, old := range w.owners[:w.ownersN] {
			recreated = recreated || old.uid == 2
		}
		if !recreated {
			edit("others create the run again", func(o *simOwner) { *o = simOwner{uid: 2} })
		}
	}
	w.nextBackup(do)
}

// nextBackup makes a backup, or restores it. Requests that are under way fail,
// and the informers of Jobs list again.
func (w world) nextBackup(do doing) {
	b := w.backup
	if !b.taken {
		do("a backup is made", func(w *world) {
			w.left.acts++ // it disturbs nothing
			w.backup.taken = true
			w.backup.owner = w.owner()
			w.backup.jobs = w.jobs
		})
		return
	}
	if b.restored || b.owner.uid != w.owner().uid {
		return
	}
	do("the backup is restored", func(w *world) {
		w.backup.restored = true
		for i := range w.jobs {
			was := w.jobs[i]
			now := was
			now.exists = false
			if b.jobs[i].exists {
				now = b.jobs[i]
			}
			now.ended = was.ended
			now.taken = true
			if was.owner == 0 || now == was {
				continue
			}
			w.jobs[i] = now
			w.change(int8(i)) //nolint:gosec // few
		}
		w.store(b.owner)
		w.gap = true
		w.late = 0
		for i := range w.replicas {
			r := &w.replicas[i]
			w.idle(r)
			r.age(time.Hour)
			w.hear(r, w.changesN)
		}
	})
}

// order makes hashes by which the replicas are put in an order.
var order = maphash.MakeSeed()

// sorted puts the replicas in an order, because they are alike.
func (w world) sorted() world {
	if maphash.Comparable(order, w.replicas[0]) <= maphash.Comparable(order, w.replicas[1]) {
		return w
	}
	w.replicas[0], w.replicas[1] = w.replicas[1], w.replicas[0]
	w.last = 1 - w.last
	return w
}
