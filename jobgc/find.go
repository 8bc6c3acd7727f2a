// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "k8s.io/apimachinery/pkg/types"

// find looks for the Job: in the Ref, the cache and the memory, and then in the
// API server.
func (m machine) find() (machine, request) {
	if m.ref.uid != "" {
		return m.findRecorded()
	}
	return m.findUnrecorded()
}

// finds goes on with a finding.
func (m machine) finds(f finding) (machine, request) {
	m.found = f
	return m.to(stageDecide), requestNone
}

// pending is the finding of a cache that is behind: nothing is known yet.
func pending(when again) finding {
	return finding{state: Pending, source: sourceCacheBehind, again: when}
}

// seen is the finding of the Job in the cache.
func (m machine) seen() finding {
	return finding{state: m.cached.state, outcome: m.cached.outcome, source: sourceSeen, job: m.cached}
}

// findRecorded looks for the Job of the Ref.
func (m machine) findRecorded() (machine, request) {
	shown := m.cached.uid == m.ref.uid
	m.returned = shown && m.isBack(m.ref.uid) || m.memory.fate == fateReturned
	if m.ref.released && !m.returned {
		return m.finds(m.collected(sourceRef))
	}
	if shown {
		if m.cached.control == controlOther {
			return m.fail(failureForeign), requestNone
		}
		return m.finds(m.seen())
	}
	last, remembered := m.lastSeen()
	if remembered {
		return m.finds(last)
	}
	if m.ended && m.memory.missed && m.memory.eventOver {
		return m.finds(m.gone(jobFacts{}, sourceTombstone)) // it was read live before
	}
	if m.informer && m.memory.fate != fateRemoved {
		return m.notInCache()
	}
	return m, requestRead
}

// isBack reports whether a Job that was just found is there again after its
// deletion. The cache shows a Job before the handlers receive its event.
func (m machine) isBack(uid types.UID) bool {
	return m.before.uid == uid && m.before.fate == fateRemoved
}

// notInCache waits for a cache that may lag behind, or for a delete event that
// may be on the way, and then asks the API server.
func (m machine) notInCache() (machine, request) {
	if m.memory.missed && !m.memory.eventOver {
		return m.end(pending(againSettled)), requestNone
	}
	if !m.ended {
		if m.young {
			return m.end(pending(againSoon)), requestNone
		}
		return m, requestRead
	}
	if m.memory.uid == "" || m.memory.absent == waitOver {
		return m, requestRead
	}
	m.notes.uid = m.ref.uid
	m.notes.absent = true
	return m.end(pending(againSettled)), requestNone
}

// gone is the finding of a Job of the Ref that does not exist. It is lost only
// if its outcome is not recorded. The facts are of the Job that has its name.
func (m machine) gone(other jobFacts, source string) finding {
	if m.ref.outcome != "" {
		return m.collected(source)
	}
	if other.uid != "" {
		return finding{state: Replaced, source: source}
	}
	return finding{state: Missing, source: source}
}

// lastSeen is the finding of a Job that was deleted and whose last state is
// remembered.
func (m machine) lastSeen() (finding, bool) {
	if m.memory.fate != fateRemoved {
		return finding{}, false
	}
	if m.ref.outcome != "" {
		return m.collected(sourceTombstone), true
	}
	if m.memory.outcome == "" {
		return m.gone(jobFacts{}, sourceTombstone), m.ended // others confirm it by a live read
	}
	return m.tombstone(), true
}

// tombstone is the finding of a finished Job that is gone. Only a Job whose
// outcome or end is recorded is released: soon after that, a copy of the owner
// that lacks the end is late.
func (m machine) tombstone() finding {
	if m.memory.released && m.memory.lately && !m.ended {
		return finding{state: Pending, source: sourceTombstone, changed: true, again: againSoon}
	}
	return finding{
		state: Finished, outcome: m.memory.outcome, source: sourceTombstone,
		job: jobFacts{uid: m.memory.uid, control: controlOwner, state: Finished, outcome: m.memory.outcome},
	}
}

// lookedUp takes a live read of the Job.
func (m machine) lookedUp(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if m.ref.uid == "" {
		return m.lookedUpByName(a)
	}
	if a.job.uid != m.ref.uid {
		return m.missing(a)
	}
	if a.job.control == controlOther {
		return m.fail(failureForeign)
	}
	m.found = m.live(a.job)
	if !m.rests() {
		m.found.again = againLater // no event announces its end
	}
	return m.to(stageDecide)
}

// missing takes a live read that has not found the Job of the Ref. The cache
// drops a Job before the handlers receive its delete event, and that event may
// carry the outcome.
func (m machine) missing(a answer) machine {
	last, remembered := m.lastSeen() // the event may have come in during the read
	if remembered {
		m.found = last
		return m.to(stageDecide)
	}
	m.found = m.gone(a.job, sourceLiveRead)
	waits := m.found.state.lost() && !m.ended
	if !waits {
		return m.to(stageDecide) // remembered, they would displace the Jobs that are waited for
	}
	m.notes.uid = m.ref.uid
	m.notes.missed = true
	over := m.memory.eventOver || m.memory.fate == fateRemoved
	if !over {
		return m.end(pending(againSettled))
	}
	return m.to(stageDecide)
}

// findUnrecorded looks for the Job of an owner that has recorded none. A call
// that was cut off may have created it, and the cache shows it at some time. Of
// a cancelled or deleting owner it must be stopped now, or the owner waits for
// its outcome, and one that the Guard remembers is there: the API server knows
// it. A Job whose Ref was returned a moment ago is not looked for: only the
// cache is late.
func (m machine) findUnrecorded() (machine, request) {
	if m.cached.control == controlOwner && !m.isPast(m.cached) {
		return m.findShown()
	}
	if !m.looksByName() {
		return m.finds(finding{state: NotCreated, source: sourceRef})
	}
	if m.awaitsWrite() {
		m.ref = record{uid: m.memory.uid}
		return m.end(pending(againSoon)), requestNone
	}
	if m.nowhere {
		return m.to(stageBuildFirst), requestNone
	}
	return m, requestRead
}

// awaitsWrite reports whether a call has returned the Ref of the Job a moment
// ago, and the caller's copy does not have it yet. It does not if the cache or
// a live read says more, or if the Job has to be changed.
func (m machine) awaitsWrite() bool {
	given := m.memory.given
	switch {
	case given == wishNone, !m.informer, m.cancel, m.deleting:
		return false
	case m.cached.uid != "", m.memory.missed, m.memory.outcome != "":
		return false
	}
	return m.suspend == wishNone || m.suspend == given
}

// looksByName reports whether a Job that the cache lacks must be found.
func (m machine) looksByName() bool {
	if m.ended {
		return m.memory.unsure
	}
	remembered := m.memory.uid != "" && m.memory.fate == fateUnknown
	return m.cancel || m.deleting || remembered
}

// findShown looks at a Job that the owner has not recorded and the cache shows.
// What the adoption changes must be read live before.
func (m machine) findShown() (machine, request) {
	if !m.changes(m.cached) {
		return m.finds(m.seen())
	}
	m.notes.seen = m.cached // it may be gone by now
	return m, requestRead
}

// changes reports whether the adoption of a Job changes it.
func (m machine) changes(job jobFacts) bool { return m.takes(job) || job.ttl.early }

// isPast reports whether a Job that Step did not create belongs to a run that
// ended before Step was called for it. The Job stays as it is, unless it still
// has to be stopped.
func (m machine) isPast(job jobFacts) bool {
	if !m.named || !m.ended {
		return false
	}
	if m.cancel && job.state != Finished {
		return false
	}
	ours := job.annotated || job.held
	return !ours
}

// takes reports whether a Job of this owner is taken over by its name: Step did
// not create it, so it lacks what Step gives to each Job. A Job that is
// released was taken over: this copy of the owner is late.
func (m machine) takes(job jobFacts) bool {
	switch {
	case !m.named, m.ended, job.control != controlOwner:
		return false
	case job.released, job.deleting:
		return false
	}
	return !job.annotated
}

// lookedUpByName takes a live read of the name of an owner that has recorded no
// Job.
func (m machine) lookedUpByName(a answer) machine {
	if a.job.control == controlOwner {
		m.found = m.live(a.job)
		return m.to(stageDecide)
	}
	return m.findRemembered().to(stageDecide)
}

// findRemembered finds what the Guard remembers of a Job that is not there, and
// whose owner has recorded none.
func (m machine) findRemembered() machine {
	m.found = finding{state: NotCreated, source: sourceRef}
	if m.memory.outcome != "" {
		m.found = m.tombstone()
		return m
	}
	if m.memory.uid == "" || m.memory.fate == fateRemoved {
		return m
	}
	m.notes.uid = m.memory.uid
	m.notes.missed = true
	if !m.memory.eventOver {
		m.found = pending(againSettled)
	}
	return m
}
