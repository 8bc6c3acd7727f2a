// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// What people and other controllers do in the small world.

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
	w.restored = w.ownersN
	w.gap |= fromBackup
	w.late = 0
	w.lateOver = false
	w.forgetTimes()
	for i := range w.replicas {
		r := &w.replicas[i]
		w.idle(r)
		w.age(r, pastAged)
		w.hear(r, w.changesN)
	}
}
