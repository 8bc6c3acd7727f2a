// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "hash/maphash"

// States of the small world that nothing distinguishes are one state.

// tidy makes worlds that behave alike equal.
func (w *world) tidy() {
	if w.left.restores == 0 || w.left.acts == 0 {
		w.backup = simBackup{} // it cannot be restored
	}
	if w.left.switches == 0 {
		w.restart(int(1 - w.last))
	}
	for i := range w.replicas {
		w.replicas[i].waits = false
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
			w.replicas[n].freed.remove(i)
			w.replicas[n].said.remove(i)
			w.replicas[n].lost.remove(i)
			if indexOf(w.rules.shown.values[w.replicas[n].sent].uid) == i {
				w.replicas[n].sent = 0
			}
		}
	}
}

// jobSet is a set of Jobs.
type jobSet uint8 //nolint:recvcheck // add and remove change it

func (s jobSet) has(i int8) bool { return s&(1<<i) != 0 }

func (s *jobSet) add(i int8) { *s |= 1 << i }

func (s *jobSet) remove(i int8) { *s &^= 1 << i }

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
	w.restored = max(0, w.restored-old)
	for i := range w.replicas {
		w.replicas[i].ownerAt -= old
	}
}

// cutChanges forgets the changes of Jobs that every cache has.
func (w *world) cutChanges() {
	if !w.rules.watches() {
		w.known = [mostJobs]simJob{}
		w.changes = [mostChanges]happened{}
		w.changesN = 0
		w.replicas[0].jobAt = 0
		w.replicas[1].jobAt = 0
		return
	}
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

// order is the seed of the hashes that order the replicas.
var order = maphash.MakeSeed()

// sort puts the replicas in an order, because they are alike.
func (w *world) sort() {
	if maphash.Comparable(order, w.replicas[0]) <= maphash.Comparable(order, w.replicas[1]) {
		return
	}
	w.replicas[0], w.replicas[1] = w.replicas[1], w.replicas[0]
	w.last = 1 - w.last
}
