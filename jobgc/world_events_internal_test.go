// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"fmt"
	"hash/maphash"
)

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
		after.age(&after.replicas[i], pastLagged)
		of("the lag passes", &after)
		after = active
		after.young = false
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

// nextCalls are the calls. Each cache is as it was, or up to date. So is what
// the handlers have received when the call has read the caches.
func (w world) nextCalls(i int, before world, yield yields) {
	r := &w.replicas[i]
	call := func(owners, cached, heard int8) {
		after := w
		r := &after.replicas[i]
		r.ownerAt = owners
		after.hear(r, cached)
		after.begin(i, heard)
		e := event{by: int8(i), what: called, from: [3]int8{owners, cached, heard}} //nolint:gosec // two
		before.then(e, &after, yield)
	}
	for owners := r.ownerAt; owners <= w.ownersN; owners++ {
		call(owners, r.jobAt, r.jobAt)
		if r.jobAt < w.changesN {
			call(owners, r.jobAt, w.changesN)
			call(owners, w.changesN, w.changesN)
		}
	}
}

type outcomes func(what string, after *world)

// nextWrites are the outcomes of a status write.
func (w world) nextWrites(i int, of outcomes) {
	after := w
	after.commit(&after.replicas[i])
	after.idle(&after.replicas[i])
	of("write", &after)
	r := &w.replicas[i]
	first := r.copied.job == 0 && r.status.ending == unended
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
// time of a creation: those that were under way have been given up.
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

// nextOfOthers is what people and other controllers do.
func (w world) nextOfOthers(yield yields) {
	acted := w
	acted.left.acts--
	of := func(what string, i int8, after *world) { w.then(event{by: byOthers, what: what, job: i}, after, yield) }
	for i := int8(1); i < mostJobs; i++ {
		if !w.jobs[i].exists || w.jobs[i].deleting {
			continue
		}
		after := acted
		after.jobs[i].taken = true
		after.open(i, unwritten)
		after.remove(i)
		of("delete the Job", i, &after)
		after = acted
		after.jobs[i].foreign = true
		after.change(i)
		of("take the Job over", i, &after)
	}
	edit := func(what string, to simOwner) {
		if to != w.owner() {
			after := acted
			after.store(to)
			of(what, 0, &after)
		}
	}
	o := w.owner()
	if o.uid == 0 {
		if !w.again {
			acted.again = true
			edit("create the run again", simOwner{uid: 2})
		}
		return
	}
	edited := o
	edited.gen++
	edited.cancel = true
	if !o.cancel {
		edit("cancel the run", edited)
	}
	edited.cancel = o.cancel
	edited.suspend = asksSuspend
	if o.suspend != asksSuspend {
		edit("suspend the run", edited)
	}
	edited.suspend = asksRun
	if o.suspend == asksSuspend {
		edit("resume the run", edited)
	}
	edit("delete the run", simOwner{})
	edited = o
	edited.gen++
	edited.deleting = true
	if !o.deleting {
		edit("delete the run, which a finalizer keeps", edited)
	}
	if w.left.restores > 0 {
		w.nextBackup(acted, of)
	}
}

// nextBackup makes a backup, or restores it. Requests that are under way fail,
// and the informers of Jobs list again.
func (w world) nextBackup(acted world, of func(string, int8, *world)) {
	b := &w.backup
	if !b.taken {
		after := w
		after.backup = simBackup{taken: true, owner: w.owner(), jobs: w.jobs}
		of("make a backup", 0, &after)
		return
	}
	if b.owner.uid != w.owner().uid {
		return
	}
	after := acted
	after.left.restores--
	after.restore()
	of("restore the backup", 0, &after)
}

func (w *world) restore() {
	for i := range w.jobs {
		was := w.jobs[i]
		now := was
		now.exists = false
		if w.backup.jobs[i].exists {
			now = w.backup.jobs[i]
		}
		now.ended = was.ended
		now.taken = true
		if was.owner == 0 || now == was {
			continue
		}
		w.jobs[i] = now
		w.change(int8(i)) //nolint:gosec // few
	}
	w.store(w.backup.owner)
	w.gap |= fromBackup
	w.late = 0
	w.lateOver = false
	for i := range w.replicas {
		r := &w.replicas[i]
		w.idle(r)
		w.age(r, pastAged)
		w.hear(r, w.changesN)
	}
}

// tidy makes worlds that behave alike equal.
func (w *world) tidy() {
	if w.left.restores == 0 || w.left.acts == 0 {
		w.backup = simBackup{} // it cannot be restored
	}
	if w.left.switches == 0 {
		w.restart(int(1 - w.last))
	}
	w.cutOwners()
	w.cutChanges()
	w.forget()
	w.sort()
}

// forget frees the Jobs that are gone and that nothing refers to.
func (w *world) forget() {
	used := w.used()
	for i := int8(1); i < mostJobs; i++ {
		if used.has(i) {
			continue
		}
		w.jobs[i] = simJob{}
		w.known[i] = simJob{}
		for n := range w.replicas {
			w.replicas[n].pasts[i] = 0
			w.replicas[n].results[i] = false
		}
	}
}

// jobSet is a set of Jobs.
type jobSet uint8

func (s jobSet) has(i int8) bool { return s&(1<<i) != 0 }

func (s *jobSet) add(i int8) { *s |= 1 << i }

// used are the Jobs that exist, and that something refers to.
func (w *world) used() jobSet {
	var used jobSet
	for i := int8(1); i < mostJobs; i++ {
		if w.jobs[i].exists || w.known[i].exists || w.backup.jobs[i].exists {
			used.add(i)
		}
	}
	for _, c := range w.changes[:w.changesN] {
		used.add(c.index)
	}
	for _, o := range w.owners[:w.ownersN] {
		used.add(o.job)
	}
	used.add(w.backup.owner.job)
	for i := range w.replicas {
		r := &w.replicas[i]
		used |= w.rules.machine(r.m).uses
		used.add(r.copied.job)
		used.add(r.status.job)
		for _, place := range r.places {
			used.add(place.job)
		}
	}
	return used
}

// cutOwners forgets the owners that every cache has left behind.
func (w *world) cutOwners() {
	old := min(w.replicas[0].ownerAt, w.replicas[1].ownerAt) - 1
	if old == 0 {
		return
	}
	copy(w.owners[:], w.owners[old:w.ownersN])
	clear(w.owners[w.ownersN-old : w.ownersN])
	w.ownersN -= old
	for i := range w.replicas {
		w.replicas[i].ownerAt -= old
	}
}

// cutChanges forgets the changes of Jobs that every cache has.
func (w *world) cutChanges() {
	old := min(w.replicas[0].jobAt, w.replicas[1].jobAt)
	if old == 0 {
		return
	}
	for _, c := range w.changes[:old] {
		w.known[c.index] = c.job
	}
	copy(w.changes[:], w.changes[old:w.changesN])
	clear(w.changes[w.changesN-old : w.changesN])
	w.changesN -= old
	for i := range w.replicas {
		w.replicas[i].jobAt -= old
	}
}

// order makes hashes by which the replicas are put in an order.
var order = maphash.MakeSeed()

// sort puts the replicas in an order, because they are alike.
func (w *world) sort() {
	if maphash.Comparable(order, w.replicas[0]) <= maphash.Comparable(order, w.replicas[1]) {
		return
	}
	w.replicas[0], w.replicas[1] = w.replicas[1], w.replicas[0]
	w.last = 1 - w.last
}
