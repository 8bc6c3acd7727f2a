// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "fmt"

// What can happen in the small world.

// event is one of it. It becomes a text only if a rule is broken.
type event struct {
	by   int8 // 0 and 1: a replica; 2: the server; 3: others
	job  int8
	what string
	asks request
	from [3]int8 // of a call: the owner, the Jobs and the events of the caches
}

const (
	byServer = 2
	byOthers = 3
)

func (e event) String() string {
	switch {
	case e.by == byServer:
		return fmt.Sprintf("job %d: %s", e.job, e.what)
	case e.by == byOthers:
		return fmt.Sprintf("others: %s (job %d)", e.what, e.job)
	case e.what == called:
		return fmt.Sprintf("replica %d: call with owner %d, Jobs %d and their events %d", e.by, e.from[0], e.from[1], e.from[2])
	}
	return fmt.Sprintf("replica %d: %s %s", e.by, e.asks, e.what)
}

const called = "call"

type yields func(e event, after state)

// next yields each event that can happen.
func (w world) next(yield yields) {
	if w.wrong != noRule {
		return
	}
	for i := range w.replicas {
		w.nextOfReplica(i, yield)
	}
	w.nextOfServer(yield)
	if w.left.acts > 0 {
		w.nextOfOthers(yield)
	}
}

// then yields an event, if it changes something.
func (w world) then(e event, after *world, yield yields) {
	if after.state != w.state {
		after.tidy()
		yield(e, after.state)
	}
}

// nextOfReplica are the calls and the requests of a replica.
func (w world) nextOfReplica(i int, yield yields) {
	active := w
	if w.last != int8(i) { //nolint:gosec // two
		if w.left.switches == 0 {
			return
		}
		active.left.switches--
		active.last = int8(i) //nolint:gosec // two
	}
	r := &w.replicas[i]
	e := event{by: int8(i)} //nolint:gosec // two
	of := func(what string, after *world) {
		e.what = what
		w.then(e, after, yield)
	}
	if w.left.crashes > 0 {
		after := active
		after.left.crashes--
		after.restart(i)
		if w.rules.longer {
			after.distrust()
		}
		of("crash", &after)
	}
	switch {
	case !r.calls:
		after := active
		after.young = false
		after.hear(&after.replicas[i], after.changesN)
		after.age(&after.replicas[i], pastLagged)
		of("the lag passes", &after)
		after = active
		after.young = false
		after.forgetTimes()
		after.hear(&after.replicas[i], after.changesN)
		after.age(&after.replicas[i], pastAged)
		of("an hour passes", &after)
		active.nextCalls(i, w, yield)
	case r.writes:
		active.nextWrites(i, of)
	default:
		e.asks = w.rules.machine(r.m).asks
		active.nextAnswers(i, of)
	}
}

// nextCalls are the calls. Each cache is old or up to date. The handlers may
// receive the later events before the call goes on, or be behind the cache.
func (w world) nextCalls(i int, before world, yield yields) {
	r := &w.replicas[i]
	call := func(owners, events, cached, heard int8) {
		after := w
		r := &after.replicas[i]
		r.ownerAt = owners
		after.hear(r, events)
		after.begin(i, cached, heard)
		e := event{by: int8(i), what: called, from: [3]int8{owners, cached, heard}} //nolint:gosec // two
		before.then(e, &after, yield)
	}
	for owners := r.ownerAt; owners <= w.ownersN; owners = max(owners+1, w.restored) {
		call(owners, r.jobAt, r.jobAt, r.jobAt)
		if r.jobAt < w.changesN {
			call(owners, r.jobAt, r.jobAt, w.changesN)
			call(owners, r.jobAt, w.changesN, r.jobAt)
			call(owners, w.changesN, w.changesN, w.changesN)
		}
	}
}

type outcomes func(what string, after *world)

// nextWrites are the outcomes of a status write.
func (w world) nextWrites(i int, of outcomes) {
	after := w
	if !w.rules.unwritten {
		after.commit(&after.replicas[i])
	}
	after.idle(&after.replicas[i])
	of("write", &after)
	r := &w.replicas[i]
	first := r.copied.job == 0 && !r.status.ends()
	if first {
		after = w
		after.idle(&after.replicas[i])
		of("postpone the write", &after)
	}
	if w.left.faults > 0 {
		after = w
		after.left.faults--
		after.idle(&after.replicas[i])
		of("the write is lost", &after)
	}
}

// nextAnswers are the outcomes of a request.
func (w world) nextAnswers(i int, of outcomes) {
	after := w
	after.answer(i, after.serve(i))
	of("done", &after)
	if w.replicas[i].jobAt < w.changesN || w.writesJob(i) {
		after = w
		a := after.serve(i)
		after.hear(&after.replicas[i], after.changesN)
		after.answer(i, a)
		of("done, and events", &after)
	}
	if w.left.faults > 0 {
		w.left.faults--
		w.nextFaults(i, of)
	}
}

// writesJob reports whether a request changes a Job.
func (w *world) writesJob(i int) bool {
	asks := w.rules.machine(w.replicas[i].m).asks
	return asks != requestOwner && asks != requestRead && asks != requestBuild
}

// nextFaults are the faults of a request.
func (w world) nextFaults(i int, of outcomes) {
	fails := func(what string, with verdict) {
		after := w
		after.answer(i, simAnswer{verdict: with})
		of(what, &after)
	}
	asks := w.rules.machine(w.replicas[i].m).asks
	fails("lost", verdictUnknown)
	if !w.writesJob(i) {
		return
	}
	fails("refused", verdictRefused)
	fails("denied", verdictDenied)
	after := w
	after.serve(i)
	after.answer(i, simAnswer{verdict: verdictUnknown})
	of("done without an answer", &after)
	if asks == requestDelete {
		return
	}
	if asks != requestCreate {
		fails("invalid", verdictInvalid)
		w.nextChanged(i, of)
		return
	}
	fails("the namespace is being deleted", verdictTerminating)
	if w.late == 0 {
		after = w
		after.late = w.replicas[i].copied.uid
		after.lateOver = w.replicas[i].over
		after.answer(i, simAnswer{verdict: verdictUnknown})
		of("done later", &after)
	}
}

// nextChanged is a patch whose test of the version fails, because another
// client has changed what Step does not look at.
func (w world) nextChanged(i int, of outcomes) {
	asks := w.rules.machine(w.replicas[i].m).asks
	if asks != requestMark && asks != requestRelease {
		return
	}
	w.replicas[i].touched = true
	w.answer(i, simAnswer{verdict: verdictInvalid})
	of("invalid, because others have changed the Job", &w)
}

// nextOfServer are the Job controller, the TTL controller, the garbage
// collector, and a creation that comes late.
func (w world) nextOfServer(yield yields) {
	of := func(what string, i int8, after *world) { w.then(event{by: byServer, what: what, job: i}, after, yield) }
	for i := int8(1); i < mostJobs; i++ {
		job := w.jobs[i]
		if !job.exists {
			continue
		}
		after := w
		after.work(i)
		of("works", i, &after)
		if job.suspends && !job.stopped {
			after = w
			after.stop(i)
			of("its pods have ended", i, &after)
		}
		if job.finished && job.released && w.rules.ttl != "none" {
			after = w
			after.expire(i)
			of("its TTL is over", i, &after)
		}
		if job.finished && job.early {
			after = w
			after.jobs[i].taken = true
			after.open(i, longerTTL)
			after.remove(i)
			of("its own TTL is over", i, &after)
		}
		if w.orphan(i) {
			after = w
			after.collect(i)
			of("garbage collection", i, &after)
		}
	}
	if w.late != 0 {
		after := w
		after.late = 0
		after.lateOver = false
		a := after.create(w.late, w.lateOver)
		after.jobs[a.index].late = a.index != 0
		of("the late creation is done", 0, &after)
	}
}

// stop lets time pass after the suspension of a Job, also in the caches.
func (w *world) stop(i int8) {
	w.jobs[i].stopped = true
	w.known[i].stopped = w.known[i].suspends
	for n := range w.changes[:w.changesN] {
		c := &w.changes[n]
		if c.index == i {
			c.job.stopped = c.job.suspends
		}
	}
}

// distrust makes the TTL of each Job that is not released too short.
func (w *world) distrust() {
	early := func(job *simJob) { job.early = job.exists && !job.released }
	for i := range w.jobs {
		early(&w.jobs[i])
		early(&w.known[i])
	}
	for n := range w.changes[:w.changesN] {
		early(&w.changes[n].job)
	}
}

// work is what the Job controller does next. A pod may also end while it is
// being stopped.
func (w *world) work(i int8) {
	job := &w.jobs[i]
	if !job.exists || job.finished || job.deleting || job.stopped {
		return
	}
	job.finished = true
	job.ended = true
	w.change(i)
}

// expire deletes a Job whose final TTL is over. A long one is longer than the
// time of a creation: creations that were under way have been given up.
func (w *world) expire(i int8) {
	if w.rules.ttl == "long" {
		w.late = 0
		w.lateOver = false
		for n := range w.replicas {
			r := &w.replicas[n]
			if w.mayCreate(r) {
				w.idle(r)
			}
		}
	}
	w.remove(i)
}

// orphan reports whether the owner of a Job is gone.
func (w *world) orphan(i int8) bool { return w.owner().uid != w.jobs[i].owner && !w.jobs[i].foreign }

// collect is what the garbage collector does to a Job whose owner is gone, and
// then the sweep of package hold, if a finalizer keeps the Job.
func (w *world) collect(i int8) {
	job := &w.jobs[i]
	if job.deleting {
		job.held = false
		w.leave(i)
		return
	}
	w.remove(i)
}

// open notes that a Job goes whose Ref may not be written.
func (w *world) open(i int8, as gap) {
	o := w.owner()
	recorded := o.uid == w.jobs[i].owner && o.job == i
	if !recorded && !w.jobs[i].held {
		w.gap |= as
	}
}
