// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "k8s.io/apimachinery/pkg/types"

// The small world of the search: two replicas of a controller, one owner that
// may be created again, and its Jobs. Its state is small and plain memory, so
// that it is copied, compared and hashed fast: it holds indexes of Jobs, flags
// instead of times, and numbers of the machines and of what the Guards
// remember. Package-private values of production code are in the rules, once
// each.

const (
	mostJobs    = 6 // index 0 means none
	mostOwners  = 3 // index 0 means none
	mostChanges = 16
	mostStored  = 9
)

var jobUIDs = [mostJobs]types.UID{"", "job-1", "job-2", "job-3", "job-4", "job-5"}

// indexOf is the index of a uid, which ends with it.
func indexOf(uid types.UID) int8 {
	if uid == "" {
		return 0
	}
	return int8(uid[len(uid)-1] - '0') //nolint:gosec // a digit
}

// ending is how a run ended, as its status says.
type ending int8

const (
	unended ending = iota
	succeeded
	wasLost
	wasCancelled
)

// asked is what an owner wants of its Job.
type asked int8

const (
	asksNothing asked = iota
	asksSuspend
	asksRun
)

func (a asked) wish() wish { return []wish{wishNone, wishSuspend, wishRun}[a] }

// settings are what a search does not change.
type settings struct {
	ttl       string // "none", "short" or "long": the final TTL
	finalizer bool
	deletes   bool
	named     bool // Request.Name, and a Job of an earlier version
	informer  bool
	strips    bool // a transform of the informer strips metadata
	lacks     bool // a selector of the informer leaves the Jobs out
	denies    bool // a policy denies each patch of metadata and of the TTL
	unwritten bool // no write of the status succeeds
	nowhere   bool // the owner has no namespace
	barred    bool // the owner has a Job of another origin
	undated   bool // no Request.RecordedAt
	suspended bool // the run begins suspended
	ends      bool // the status has the outcome first, and ends with a second write
	longer    bool // a crash restarts the controller with a longer UnrecordedTTL
}

// watches reports whether a cache shows Jobs, and brings their events.
func (s settings) watches() bool { return s.informer && !s.lacks }

// simJob is a Job, and the truth about it.
type simJob struct {
	owner     int8
	exists    bool
	finished  bool
	suspends  bool
	stopped   bool // its pods have ended after its suspension
	deleting  bool
	foreign   bool // others have changed its controller
	held      bool
	annotated bool
	released  bool
	early     bool // its TTL could delete it before its outcome is recorded

	ended bool // it has finished, maybe before a restore
	taken bool // others deleted it
	late  bool // it came after the answer of its creation
}

// seen is a Job as its readers see it.
func (j simJob) seen() simJob {
	j.ended = false
	j.taken = false
	j.late = false
	return j
}

// simOwner is an owner as stored.
type simOwner struct {
	uid      int8
	gen      int8
	job      int8 // of the Ref
	outcome  bool // of the Ref
	released bool // of the Ref
	cancel   bool
	deleting bool // a finalizer keeps it
	suspend  asked
	ending   ending
	recent   bool // its end was recorded within the last minute
}

func (o simOwner) record() record {
	r := record{uid: jobUIDs[o.job], released: o.released}
	if o.outcome {
		r.outcome = Succeeded
	}
	return r
}

// ends reports whether the end of the run is recorded, or at least its outcome.
func (o simOwner) ends() bool { return o.outcome || o.ending != unended }

// wants is what a live read of the owner finds.
func (o simOwner) wants() ownerState {
	switch {
	case o.ending != unended:
		return ownerDone
	case o.deleting:
		return ownerDeleting
	}
	return ownerWaits
}

// happened is one event of the watch of Jobs.
type happened struct {
	index int8
	job   simJob
}

// simPlace is what a Guard remembers of an owner that has recorded no Job.
type simPlace struct {
	known  bool
	unsure bool
	job    int8
}

// simReplica is one process.
type simReplica struct {
	ownerAt, jobAt int8 // how much of the watches has come
	pasts          [mostJobs]pastNumber
	results        [mostJobs]bool // finished Jobs whose deletion it has seen
	places         [mostOwners]simPlace

	// What the rules need of a process.
	said  jobSet      // Jobs whose end it has returned
	lost  jobSet      // Jobs whose loss it has returned
	freed jobSet      // released Jobs whose deletion it has just seen
	sent  factsNumber // the Job in the cache when its release was sent a moment ago
	waits bool        // the last call waits for a delete event; of the calm only

	calls  bool
	writes bool // the status write is the request
	m      machineNumber
	copied simOwner // the caller's copy
	status simOwner // to write
	recent bool     // the caller's copy was recorded within the last minute
	stale  bool     // the owner has changed since the caller's copy
	over   bool     // the name of its Job was freed after the owner was read

	// What the rules need of a call.
	edited     bool // the owner has another spec than the copy, as its live read found
	agreed     bool // the owner is as the copy, as its live read found
	confirms   bool // that read came after the loss of the Job
	touched    bool // others have changed the Job since the last patch was made
	builds     int8 // of the Job
	reads      int8 // of the owner
	asked      int8 // requests
	failed     int8 // of them, that were refused or had no answer
	denied     int8 // of those, by a policy or a test
	reply      reply
	terminates bool // the namespace, as an answer said
	newest     newest
}

// reply is how the last request of a call ended.
type reply int8

const (
	replyGood reply = iota
	replyRefused
	replyDenied // a policy refused a patch that the run does not need
	replyNone   // no answer came
)

// newest is the Job as the last answer of a call showed it.
type newest struct {
	job      int8
	finished bool
	deleting bool
}

// budget counts the events that may still come.
type budget struct{ crashes, faults, acts, switches, restores int8 }

// state is one state of the world.
type state struct {
	left     budget
	last     int8 // the replica that did something last
	late     int8 // the owner of a creation that the API server may still do; 0: none
	lateOver bool // the name of its Job was freed after the owner was read
	wrong    rule // that was broken
	gap      gap  // the documented ways to run twice that were open
	again    bool // the owner was created again
	young    bool // its Ref is so new that a cache may lack the Job
	ownersN  int8
	restored int8 // the owner of the restored store; no cache gets one before it now
	changesN int8
	ran      [mostOwners]int8 // how many of their Jobs ran, at most 2

	owners   [mostStored]simOwner
	jobs     [mostJobs]simJob
	known    [mostJobs]simJob // the Jobs before changes
	changes  [mostChanges]happened
	replicas [2]simReplica
	backup   simBackup
}

// simBackup is a copy of the store.
type simBackup struct {
	taken bool
	owner simOwner
	jobs  [mostJobs]simJob
}

// world is one state, with the rules of its search. The methods of a copy
// return another state.
type world struct { //nolint:recvcheck // see above
	state
	rules *rules
}

func newWorld(rules *rules, left budget) world {
	w := world{rules: rules}
	w.left = left
	rules.start = left
	first := simOwner{uid: 1}
	if rules.suspended {
		first.suspend = asksSuspend
	}
	w.store(first)
	if rules.named {
		w.jobs[1] = simJob{owner: 1, exists: true, early: rules.ttl != "none"}
		w.ran[1]++
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
		w.wrong = tooFewOwners
		return
	}
	w.owners[w.ownersN] = o
	w.ownersN++
	for i := range w.replicas {
		w.replicas[i].stale = w.replicas[i].calls
	}
}

// change tells the watch that a Job has changed.
func (w *world) change(i int8) {
	if int(w.changesN) == mostChanges {
		w.wrong = tooFewChanges
		return
	}
	w.changes[w.changesN] = happened{i, w.jobs[i].seen()}
	w.changesN++
}

// remove takes a Job away, or marks it if a finalizer keeps it.
func (w *world) remove(i int8) {
	job := &w.jobs[i]
	if !job.exists || job.deleting && job.held {
		return
	}
	job.deleting = true
	w.leave(i)
}

// leave takes a Job that is being deleted away, unless a finalizer keeps it.
func (w *world) leave(i int8) {
	job := &w.jobs[i]
	job.exists = !job.deleting || job.held
	w.change(i)
	if job.exists {
		return
	}
	for n := range w.replicas {
		r := &w.replicas[n]
		r.over = r.over || w.mayCreate(r) && w.shareName(job.owner, r.copied.uid)
	}
	w.lateOver = w.lateOver || w.late != 0 && w.shareName(job.owner, w.late)
}

// mayCreate reports whether a replica may create a Job for an owner that it has
// read before.
func (w *world) mayCreate(r *simReplica) bool {
	m := w.rules.machine(r.m)
	return r.calls && !r.writes && m.job == 0 && m.stored.is != ownerUnread
}

// named returns the Job that has the name of the Job of an owner.
func (w *world) named(owner int8) int8 {
	for i := range w.jobs {
		if w.jobs[i].exists && w.shareName(w.jobs[i].owner, owner) {
			return int8(i) //nolint:gosec // few
		}
	}
	return 0
}

// shareName reports whether the Jobs of two owners have the same name.
func (w *world) shareName(one, other int8) bool { return w.rules.named || one == other }
