// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The small world of the search: two replicas of a controller, one owner that
// may be created again, and its Jobs. A world is comparable: it holds indexes
// instead of pointers, and flags instead of times.

const (
	mostJobs    = 4 // index 0 is no Job
	mostOwners  = 3 // index 0 is no owner
	mostChanges = 16
	mostStored  = 9
)

var jobUIDs = [mostJobs]types.UID{"", "job-1", "job-2", "job-3"}

// ending is how a run ended, as its status says.
type ending int8

const (
	unended ending = iota
	succeeded
	wasLost
	wasCancelled
)

// settings are what a search does not change.
type settings struct {
	ttl       string // "none", "short" or "long": the final TTL
	finalizer bool
	deletes   bool
	named     bool // Request.Name, and a Job of an earlier version
	informer  bool
}

// simJob is a Job, and the truth about it.
type simJob struct {
	owner     int8
	exists    bool
	ran       bool // its pods
	finished  bool
	suspends  bool
	deleting  bool
	held      bool
	annotated bool
	released  bool
	early     bool // its TTL could delete it before its outcome is recorded
	ended     bool // it has finished, maybe before a restore
	taken     bool // others deleted it
	orphan    bool // its owner was gone when it was created
}

// simOwner is an owner as stored.
type simOwner struct {
	uid      int8
	gen      int8
	job      int8 // of the Ref
	outcome  bool // of the Ref
	released bool // of the Ref
	cancel   bool
	suspend  wish
	ending   ending
}

func (o simOwner) record() record {
	r := record{uid: jobUIDs[o.job], released: o.released}
	if o.outcome {
		r.outcome = Succeeded
	}
	return r
}

// happened is one event of the watch of Jobs.
type happened struct {
	index int8
	job   simJob
}

// simReplica is one process.
type simReplica struct {
	ownerAt, jobAt int8 // how much of the watches has come
	pasts          [mostJobs]past
	results        [mostJobs]bool // deletions of finished Jobs that it has heard of
	places         [mostOwners]expected

	calls   bool
	m       machine
	asks    request
	copied  simOwner // the caller's copy
	version int8     // of that copy
	fresh   bool     // the read of the owner is not older than the deadline
	writes  bool     // the status write is the request
	status  simOwner // to write
}

// budget counts the faults that may still come.
type budget struct{ crashes, faults, acts, switches int8 }

// world is one state. The methods of a copy return another state.
type world struct { //nolint:recvcheck // see above
	set      settings
	left     budget
	last     int8 // the replica that did something last
	owners   [mostStored]simOwner
	ownersN  int8
	jobs     [mostJobs]simJob
	changes  [mostChanges]happened
	changesN int8
	replicas [2]simReplica
	late     int8 // the owner of a creation that the API server may still do; 0: none
	gap      bool // a documented way to run twice was open
	backup   struct {
		taken, restored bool
		owner           simOwner
		jobs            [mostJobs]simJob
	}
	wrong string // the rule that was broken
}

// began is the time of the world. Times are either began or long before.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newSim(set settings, left budget) world {
	w := world{set: set, left: left}
	w.store(simOwner{uid: 1})
	if set.named {
		w.jobs[1] = simJob{owner: 1, exists: true, ran: true, early: set.ttl != "none"}
		w.change(1)
	}
	for i := range w.replicas {
		w.restart(i)
	}
	return w
}

// owner is the stored one.
func (w *world) owner() simOwner { return w.owners[w.ownersN-1] }

func (w *world) store(o simOwner) {
	if int(w.ownersN) == mostStored {
		w.wrong = "the world is too small for its owners"
		return
	}
	w.owners[w.ownersN] = o
	w.ownersN++
}

// change tells the watch that a Job has changed.
func (w *world) change(i int8) {
	if int(w.changesN) == mostChanges {
		w.wrong = "the world is too small for its changes"
		return
	}
	w.changes[w.changesN] = happened{i, w.jobs[i]}
	w.changesN++
}

// remove takes a Job away, or marks it if a finalizer keeps it.
func (w *world) remove(i int8) {
	job := &w.jobs[i]
	if !job.exists || job.deleting && job.held {
		return
	}
	job.deleting = true
	job.exists = job.held
	w.change(i)
}

// named returns the Job that has the name of the Job of an owner.
func (w *world) named(owner int8) int8 {
	for i := range w.jobs {
		same := w.set.named || w.jobs[i].owner == owner
		if w.jobs[i].exists && same {
			return int8(i) //nolint:gosec // few
		}
	}
	return 0
}

// facts are what a replica sees of a Job.
func (w *world) facts(i int8, job simJob, owner int8) jobFacts {
	if i == 0 || !job.exists {
		return jobFacts{}
	}
	f := jobFacts{
		uid: jobUIDs[i], control: controlOther, state: Active, deleting: job.deleting, suspends: job.suspends,
		held: job.held, annotated: job.annotated, released: job.released,
	}
	if job.owner == owner {
		f.control = controlOwner
	}
	switch {
	case job.finished:
		f.state = Finished
		f.outcome = Succeeded
	case job.deleting:
		f.state = Deleting
	case job.suspends:
		f.state = Suspended
	}
	keeps := w.set.ttl == "none"
	f.ttl = ttlFacts{early: job.early && !job.deleting && !job.released, unset: keeps, final: keeps || job.released}
	return f
}

// observed is the last state of a Job.
func observed(job simJob) Observation {
	if job.finished {
		return Observation{State: Finished, Outcome: Succeeded}
	}
	return Observation{State: Active}
}

// restart begins a process with full caches and no memory.
func (w *world) restart(i int) {
	w.replicas[i] = simReplica{ownerAt: w.ownersN, jobAt: w.changesN}
}

// cached is the Job that a replica's cache has under the name.
func (w *world) cached(r *simReplica, owner int8) jobFacts {
	if !w.set.informer {
		return jobFacts{}
	}
	var jobs [mostJobs]simJob
	for _, c := range w.changes[:r.jobAt] {
		jobs[c.index] = c.job
	}
	for i := range jobs {
		same := w.set.named || jobs[i].owner == owner
		if jobs[i].exists && same {
			return w.facts(int8(i), jobs[i], owner) //nolint:gosec // few
		}
	}
	return jobFacts{}
}

// hear brings the events of Jobs up to one of them.
func (w *world) hear(r *simReplica, until int8) {
	for r.jobAt < until {
		c := w.changes[r.jobAt]
		before, known := w.before(r.jobAt, c.index)
		r.jobAt++
		if w.set.informer {
			w.handle(r, c, before, known)
		}
	}
}

// before is what the watch said of a Job before an event.
func (w *world) before(at, index int8) (simJob, bool) {
	for i := at - 1; i >= 0; i-- {
		if w.changes[i].index == index {
			return w.changes[i].job, true
		}
	}
	return simJob{}, false
}

// handle does what the handler does.
func (w *world) handle(r *simReplica, c happened, before simJob, known bool) {
	p := &r.pasts[c.index]
	ours := c.job.annotated || !w.set.named
	knows := p.uid != "" || r.places[c.job.owner] != expected{}
	if !c.job.exists {
		if ours || knows {
			p.uid = jobUIDs[c.index]
			*p = p.isRemoved(observed(c.job), c.job.released, began)
			r.results[c.index] = c.job.finished
			if c.job.finished && !c.job.released {
				r.places[c.job.owner] = expected{uid: p.uid}
			}
		}
		return
	}
	back := known && before.exists && (before.finished && !c.job.finished || before.deleting && !c.job.deleting || before.released && !c.job.released)
	if back && ours || p.fate == fateRemoved {
		p.uid = jobUIDs[c.index]
		*p = p.isBack()
		r.results[c.index] = false
	}
}

func indexOf(uid types.UID) int8 {
	for i, known := range jobUIDs {
		if known == uid {
			return int8(i) //nolint:gosec // few
		}
	}
	return 0
}

// begin begins a call with what the caches have. The handlers receive further
// events after the cache was read.
func (w *world) begin(i int, heard int8) {
	r := &w.replicas[i]
	r.copied = w.owners[r.ownerAt-1]
	r.version = r.ownerAt
	if r.copied.uid == 0 {
		return
	}
	o := r.copied
	r.m = machine{
		view: view{
			ref: o.record(), ended: o.ending != unended, cancel: o.cancel, suspend: o.suspend,
			named: w.set.named, finalizer: w.set.finalizer, deletes: w.set.deletes,
		},
		informer: w.set.informer,
		claimed:  o.ending != unended,
		cached:   w.cached(r, o.uid),
		stage:    stageFind,
	}
	if o.job == 0 && w.set.named && r.places[o.uid] == (expected{}) {
		r.places[o.uid] = expected{uid: ""}
	}
	w.remember(r)
	r.m.before = r.m.memory
	w.hear(r, heard)
	r.calls = true
	w.advance(i)
}

// advance takes a call to its next request, or to its end.
func (w *world) advance(i int) {
	r := &w.replicas[i]
	w.remember(r)
	r.m, r.asks = r.m.next()
	w.keep(r)
	if r.asks == requestBuild { // the caller's code
		w.answer(i, answer{verdict: verdictDone})
		return
	}
	if r.asks == requestNone {
		w.finish(i)
	}
}

// finish does what the caller does with the result.
func (w *world) finish(i int) {
	r := &w.replicas[i]
	if r.m.failure != failureNone {
		w.idle(r)
		return
	}
	next := r.copied
	next.job = indexOf(r.m.ref.uid)
	next.outcome = r.m.ref.outcome != ""
	next.released = r.m.ref.released
	if next.ending == unended {
		switch {
		case r.m.found.state == Cancelled:
			next.ending = wasCancelled
		case r.m.found.lost():
			next.ending = wasLost
			if r.results[next.job] {
				w.wrong = "a result is lost that the events brought"
			}
		case next.outcome:
			next.ending = succeeded
		}
	}
	if next == r.copied {
		w.idle(r)
		return
	}
	r.writes = true
	r.status = next
}

// idle ends a call. Its rest is not part of the state.
func (w *world) idle(r *simReplica) {
	r.calls = false
	r.m = machine{}
	r.asks = requestNone
	r.copied = simOwner{}
	r.version = 0
	r.fresh = false
	r.writes = false
	r.status = simOwner{}
}
