// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// recall looks for a Job that the Guard remembers before it creates one,
// because it may be there, also again.
func (m machine) recall() (machine, request) {
	if m.barred {
		return m.fail(failureBarred), requestNone
	}
	if m.memory.uid == "" {
		return m.to(stageCreate), requestNone
	}
	return m, requestRead
}

// recalled takes the read of a Job that the Guard remembers.
func (m machine) recalled(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.control == controlOwner {
		m.found = m.live(a.job)
		return m.to(stageDecide)
	}
	m = m.findRemembered()
	if m.found.state == NotCreated {
		return m.to(stageCreate)
	}
	return m.to(stageDecide)
}

// created takes the answer of the creation. The Job is never created twice in
// one call: if it vanishes in between, another replica may have recorded its
// result and released it.
func (m machine) created(a answer) machine {
	switch a.verdict {
	case verdictDone:
		return m.adopts(a.job)
	case verdictTaken:
		return m.to(stageTaken)
	case verdictUnknown:
		m.notes.unsure = true
		return m.fail(failureRequest)
	case verdictTerminating:
		return m.end(finding{state: NotCreated, source: sourceLiveRead, ending: true})
	default:
		// Validation, policies and quotas refuse before the API server looks
		// whether the name is taken: a call that was cut off may have created the
		// Job, which may have used up the quota itself.
		return m.to(stageRefused)
	}
}

// wasTaken takes the read of the Job that has the name.
func (m machine) wasTaken(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.verdict == verdictGone {
		return m.end(m.ownerChanged())
	}
	return m.adopts(a.job)
}

// wasRefused takes the read after a refused creation.
func (m machine) wasRefused(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.control != controlOwner {
		return m.fail(failureCreate)
	}
	return m.adopts(a.job)
}

// adopts goes on with a Job that the API server has under the name.
func (m machine) adopts(job jobFacts) machine {
	if job.control != controlOwner {
		return m.fail(failureTaken)
	}
	m.found = m.live(job)
	return m.adopt()
}

// adopt puts a Job of this owner into the Ref. A TTL that could delete the Job
// before its outcome is recorded is raised before.
func (m machine) adopt() machine {
	job := m.found.job
	if m.found.source == sourceTombstone {
		m.ref = record{uid: job.uid, outcome: m.found.outcome, released: true}
		return m.end(m.found)
	}
	m.notes.seen = job
	if m.takes(job) {
		return m.to(stageMark)
	}
	return m.raiseEarly()
}

// raiseEarly makes sure that the Job stays until its outcome is recorded.
func (m machine) raiseEarly() machine {
	if m.found.job.ttl.early {
		return m.to(stageRaise)
	}
	return m.enter()
}

// marked takes the answer of the patch that gives a Job what Step gives to each
// Job. If a policy refuses it, the Job does not change.
func (m machine) marked(a answer) machine {
	switch a.verdict {
	case verdictDone:
		m.found = m.live(a.job)
		return m.raiseEarly()
	case verdictGone:
		return m.fail(failureDeleted)
	case verdictDenied:
		m.notes.unchanged = true
		return m.raiseEarly()
	case verdictInvalid:
		m.tries++
		return m.to(stageMarkAgain)
	default:
		return m.fail(failureRequest)
	}
}

// markAgain takes the read after a patch whose test has failed.
func (m machine) markAgain(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.uid != m.found.job.uid {
		return m.fail(failureDeleted)
	}
	m.found = m.live(a.job)
	if !m.takes(a.job) {
		return m.raiseEarly()
	}
	again := !a.same && m.tries < maxTries
	if again {
		return m.to(stageMark)
	}
	m.notes.unchanged = true
	return m.raiseEarly()
}

// raised takes the answer of the patch of the TTL. If a policy refuses it, the
// Job is recorded anyway. Otherwise its TTL would delete it, and Step would
// create it again. The outcome of a Job that has finished is recorded now, so
// that its TTL does not matter.
func (m machine) raised(a answer) machine {
	if a.verdict == verdictDone {
		m.found = m.live(a.job)
		return m.enter()
	}
	if a.verdict == verdictDenied {
		m.notes.unchanged = true
		return m.enter()
	}
	finished := m.found.state == Finished
	if finished || a.verdict == verdictGone {
		return m.enter()
	}
	if a.verdict == verdictInvalid {
		return m.to(stageRaiseAgain) // another Job may have the name by now
	}
	return m.fail(failureRequest)
}

// raiseAgain takes the read after a refused patch of the TTL.
func (m machine) raiseAgain(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.uid != m.found.job.uid {
		return m.fail(failureDeleted)
	}
	m.found = m.live(a.job)
	m.notes.unchanged = true
	return m.enter()
}

// enter puts the Job into the Ref, and goes on with it. An answer about the
// owner is from before that: it proves no loss, and no return.
func (m machine) enter() machine {
	m.ref = record{uid: m.found.job.uid}
	m.adopted = true
	if m.found.state == Finished {
		return m.recordFound()
	}
	if !m.informer {
		m.found.again = againLater
	}
	if m.memory.uid != m.ref.uid {
		m.memory = recollection{}
	}
	m.returned = m.isBack(m.ref.uid) || m.memory.fate == fateReturned
	if m.doubtsOwner() {
		m.stored = owner{}
	}
	return m.to(stageDecide)
}

// noteGiven notes the Job of a new Ref, in case that the caller cannot write
// it. The next call need not look for the Job then, unless the cache has shown
// it, or a policy has kept it from being changed.
func (m machine) noteGiven() machine {
	job := m.found.job
	if !m.adopted || job.uid == "" {
		return m
	}
	m.notes.seen = job // it may have finished since it was found
	shown := m.cached.uid == job.uid
	if !shown && !m.changes(job) {
		m.notes.uid = job.uid
		m.notes.given = wishOf(&job.suspends)
	}
	return m
}

// recordFound puts a Job that has finished into the Ref, with its outcome. If
// its run has ended without it, the next call releases it.
func (m machine) recordFound() machine {
	if m.ended {
		return m.end(finding{state: Pending, source: m.found.source, again: againSoon})
	}
	return m.record()
}
