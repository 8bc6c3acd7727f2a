// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import "cmp"

// machine is one call of Step: its knowledge, and how far the call is. It
// decides which request comes next. It makes none, has no clock, and is not
// safe for concurrent use. It is comparable, so that a search can visit each of
// its states.
//
// A call finds the Job (find.go), decides what to do (decide.go) and does it:
// it creates or adopts the Job (create.go), steers it (below), or releases it
// (release.go). Each stage that needs a request has a method for its answer.
// testdata/scenes/run.txt plays the life of a Job.
//
// The shell calls next, makes the request, and calls answer, until next returns
// no request. Before each call of next and of answer it sets memory to what the
// Guard remembers of the Job, and afterwards it keeps notes. Before it reads
// the cache, it sets before to what the Guard remembers then.
type machine struct {
	view

	informer bool     // an informer feeds the cache
	nowhere  bool     // the namespace of the Job is not known before it is built
	young    bool     // the Ref is so new that the cache may not have its Job
	barred   bool     // the owner has Jobs of another origin, and no Request.Name
	recent   bool     // the caller's copy of the owner was written a moment ago: Request.RecordedAt
	cached   jobFacts // what the cache has under the name of the Job

	// before is the memory from before the call looked for the Job. If it has
	// the deletion of the Job, a Job that is found is there again. A deletion
	// that was seen later does not prove that.
	before recollection

	stage stage
	built bool
	tries int // of the same patch

	notes   notes
	failure failure
}

// maxTries is how often the same patch is sent, if others change the Job in
// between.
const maxTries = 3

// stage is how far a call is.
type stage string

const (
	stageFind       stage = "find"        // the Job of the Ref, or of the name
	stageBuildFirst stage = "build first" // to learn the namespace
	stageDecide     stage = "decide"
	stageBuild      stage = "build"
	stageUnbuilt    stage = "unbuilt" // the Job cannot be built; it may exist
	stageOwner      stage = "owner"
	stageRecall     stage = "recall" // a Job that the Guard remembers may exist
	stageCreate     stage = "create"
	stageTaken      stage = "taken"   // the name belongs to a Job
	stageRefused    stage = "refused" // the creation was refused; the Job may exist
	stageMark       stage = "mark"
	stageMarkAgain  stage = "mark again" // the Job may have changed
	stageRaise      stage = "raise"
	stageRaiseAgain stage = "raise again" // the Job may have changed
	stageSuspend    stage = "suspend"
	stageResume     stage = "resume"
	stageRelease    stage = "release"
	stageReread     stage = "reread" // the Job may have changed, or the cache shows it in part
	stageDelete     stage = "delete"
	stageEnd        stage = "end"
)

// next takes the call as far as it can go, and returns the request that it
// needs then. If it returns none, the call has ended: ref, found and failure
// are the result.
func (m machine) next() (machine, request) {
	asks := requestNone
	for asks == requestNone && m.stage != stageEnd {
		m, asks = m.move()
	}
	return m, asks
}

// move does one step: it changes the stage, or asks for a request.
func (m machine) move() (machine, request) {
	switch m.stage {
	case stageFind:
		return m.find()
	case stageDecide:
		return m.act(), requestNone
	case stageRecall:
		return m.recall()
	case stageRelease:
		return m.release()
	case stageBuildFirst, stageBuild:
		return m, requestBuild
	case stageOwner:
		return m, requestOwner
	case stageCreate:
		return m, requestCreate
	case stageMark:
		return m, requestMark
	case stageRaise:
		return m, requestRaise
	case stageSuspend:
		return m, requestSuspend
	case stageResume:
		return m, requestResume
	case stageDelete:
		return m, requestDelete
	case stageUnbuilt, stageTaken, stageRefused, stageMarkAgain, stageRaiseAgain, stageReread:
		return m, requestRead // they look for the Job
	default:
		return m.fail(failureRequest), requestNone // no such stage
	}
}

// answer takes the answer of the request.
func (m machine) answer(a answer) machine {
	switch m.stage {
	case stageFind:
		return m.lookedUp(a)
	case stageBuildFirst:
		return m.builtFirst(a)
	case stageBuild:
		return m.wasBuilt(a)
	case stageUnbuilt:
		return m.wasUnbuilt(a)
	case stageOwner:
		return m.ownerRead(a)
	case stageRecall:
		return m.recalled(a)
	case stageCreate:
		return m.created(a)
	case stageTaken:
		return m.wasTaken(a)
	case stageRefused:
		return m.wasRefused(a)
	case stageMark:
		return m.marked(a)
	case stageMarkAgain:
		return m.markAgain(a)
	case stageRaise:
		return m.raised(a)
	case stageRaiseAgain:
		return m.raiseAgain(a)
	case stageSuspend, stageResume:
		return m.steered(a)
	case stageRelease:
		return m.wasReleased(a)
	case stageReread:
		return m.reread(a)
	case stageDelete:
		return m.deleted(a)
	default:
		return m.fail(failureRequest) // no stage that asks
	}
}

// to goes to a stage.
func (m machine) to(s stage) machine {
	m.stage = s
	return m
}

// fail ends the call with an error. Nothing is known of the Job then, except
// that its release failed.
func (m machine) fail(f failure) machine {
	m.failure = f
	if f != failureRelease {
		m.found = finding{}
	}
	return m.to(stageEnd)
}

// end ends the call with a finding.
func (m machine) end(found finding) machine {
	if m.stops(found) {
		found.state = Cancelled
	}
	m.found = found
	return m.noteGiven().to(stageEnd)
}

// stops reports whether a finding means that the run is cancelled. It is not if
// it has an outcome, which an old copy of the Job does not show.
func (m machine) stops(found finding) bool {
	if !m.cancel || found.state == Pending {
		return false
	}
	return cmp.Or(found.outcome, m.ref.outcome) == ""
}

// act does what decide says.
func (m machine) act() machine {
	switch decide(m.view) {
	case actReadOwner:
		return m.askOwner()
	case actCreate:
		return m.to(stageRecall)
	case actAdopt:
		return m.adopt()
	case actRecord:
		return m.record()
	case actClose:
		m.ref.released = true
		return m.end(m.found)
	case actSuspend:
		return m.to(stageSuspend)
	case actResume:
		return m.to(stageResume)
	case actRelease:
		return m.to(stageRelease)
	case actDelete:
		return m.to(stageDelete)
	case actWait:
	}
	return m.end(m.waiting())
}

// record puts the outcome into the Ref.
func (m machine) record() machine {
	m.ref.outcome = m.found.outcome
	m.ref.released = m.settled()
	if !m.ref.released {
		m.found.again = againSoon // the release
	}
	return m.end(m.found)
}

// waiting is the finding of a call that changes nothing.
func (m machine) waiting() finding {
	if m.found.state == Pending {
		return m.found // it says what the call waits for
	}
	if m.stored.is == ownerUnread {
		return m.found
	}
	if m.ref.uid == "" || m.doubtsOwner() {
		return m.ownerChanged()
	}
	return m.found
}

// ownerChanged is the finding of a caller's copy that is late.
func (m machine) ownerChanged() finding {
	changed := finding{state: Pending, source: sourceLiveRead, changed: true, again: againSoon}
	if m.returned {
		changed.again = againLater // the caller's cache may need long
	}
	return changed
}

// askOwner reads the owner, unless the caller's copy suffices. A Job that may
// be created is built before, so that the builder's time does not pass between
// the read and the creation.
func (m machine) askOwner() machine {
	if m.ref.uid == "" && !m.built {
		return m.to(stageBuild)
	}
	if m.believed() {
		m.stored = owner{is: ownerDone, ref: m.ref}
		return m
	}
	return m.to(stageOwner)
}

// ownerRead takes the live read of the owner.
func (m machine) ownerRead(a answer) machine {
	if a.verdict != verdictDone {
		return m.fail(failureRequest)
	}
	m.stored = a.owner
	if !m.ownerAgrees() {
		return m.to(stageDecide)
	}
	if m.found.state.lost() {
		m = m.confirmed()
	}
	if m.returned {
		m.notes.uid = m.ref.uid
		m.notes.agreed = true
		m.returned = false
		if m.ref.released {
			m.found = m.collected(sourceRef)
		}
	}
	return m.to(stageDecide)
}

// confirmed goes on with a loss that the stored owner does not contradict.
func (m machine) confirmed() machine {
	last, remembered := m.lastSeen() // the delete event may have come in during the read
	if remembered {
		m.found = last
		return m
	}
	if m.ended {
		return m // nothing is lost
	}
	m.notes.uid = m.ref.uid
	m.notes.loss = m.found.state
	return m
}

// collected is the finding of a Job that is gone and whose end is recorded.
func (m machine) collected(source string) finding {
	return finding{state: Collected, source: source, outcome: m.ref.outcome}
}

// builtFirst takes a Job that was built to learn its namespace.
func (m machine) builtFirst(a answer) machine {
	m.built = a.verdict == verdictDone
	if m.built {
		m.nowhere = false
		return m.to(stageFind)
	}
	if m.deleting {
		// The Job of an owner that is being deleted goes with it.
		return m.end(finding{state: NotCreated, source: sourceRef})
	}
	return m.fail(failureBuild)
}

// wasBuilt takes the Job that may be created.
func (m machine) wasBuilt(a answer) machine {
	m.built = a.verdict == verdictDone
	if m.built {
		m.nowhere = false
		return m.to(stageDecide)
	}
	if m.nowhere {
		return m.fail(failureBuild)
	}
	return m.to(stageUnbuilt)
}

// wasUnbuilt looks for the Job that a call that was cut off may have created.
func (m machine) wasUnbuilt(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.control != controlOwner {
		return m.fail(failureBuild)
	}
	m.found = m.live(a.job)
	return m.to(stageDecide)
}

// failed reports whether a read has failed: the object may exist or not.
func (a answer) failed() bool { return a.verdict != verdictDone && a.verdict != verdictGone }

// live is the finding of a Job that the API server has.
func (m machine) live(job jobFacts) finding {
	return finding{state: job.state, outcome: job.outcome, source: sourceLiveRead, job: job}
}

// steered takes the answer of a suspension or its end.
func (m machine) steered(a answer) machine {
	suspends := m.stage == stageSuspend
	if a.verdict == verdictGone {
		// Its delete event, which may carry the outcome, is on the way.
		return m.end(pending(againSoon))
	}
	if a.verdict != verdictDone {
		return m.fail(failureRequest)
	}
	after := m.found.again
	m.found = m.live(a.job)
	m.found.again = after
	if suspends && m.found.state == Active {
		m.found.state = Suspended // its condition follows
	}
	if m.doubtsOwner() {
		m.stored = owner{} // the answer is from before the patch
		return m.to(stageDecide)
	}
	if m.found.state == Finished && !m.ended {
		return m.record() // it has finished before it could be suspended
	}
	return m.end(m.found)
}

// deleted takes the answer of a deletion.
func (m machine) deleted(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	return m.end(m.found)
}
