// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

// release sets the final TTL and removes the finalizer. A copy of the Job that
// may lack what the stored Job has is read again first, so that nothing is
// overwritten or left behind.
func (m machine) release() (machine, request) {
	if m.blind() {
		return m.to(stageReread), requestNone
	}
	if m.finalTTLIsDue() || m.found.job.held {
		return m, requestRelease
	}
	return m.wasLeft(), requestNone
}

// wasReleased takes the answer of the patch. It tests what it was made for, so
// that it never changes a successor of the same name. The Ref of a Job in the
// cache is not marked as released: the cache shows the annotation, and a mark
// would cost one more write of the owner.
func (m machine) wasReleased(a answer) machine {
	switch a.verdict {
	case verdictDone, verdictGone:
		m.notes.uid = m.ref.uid
		m.notes.sent = m.cached
		return m.wasLeft()
	case verdictInvalid:
		m.tries++
		return m.to(stageReread)
	default:
		return m.fail(failureRelease)
	}
}

// reread takes the Job that the API server returned.
func (m machine) reread(a answer) machine {
	if a.failed() {
		return m.fail(failureRequest)
	}
	if a.job.uid != m.ref.uid {
		return m.wasLeft()
	}
	refusedAgain := m.tries > 0 && a.same
	if refusedAgain || m.tries >= maxTries {
		return m.fail(failureRelease) // the refusal has another cause
	}
	m.found = m.live(a.job)
	return m.to(stageRelease)
}

// wasLeft ends a call when nothing is left to do for the Job.
func (m machine) wasLeft() machine {
	if m.restsUnseen() {
		m.ref.released = true
	}
	return m.end(m.found)
}

// believed reports whether the caller's copy of the owner suffices as the proof
// that the end of the run is recorded. A copy without the Ref of the Job is
// late.
func (m machine) believed() bool {
	late := m.returned || m.adopted
	return m.ended && m.recent && !late
}
