// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestMarkAgain_EndsWithATakenJob: others change the Job before each patch. The
// patch is sent as often as the limit says, and the Job is recorded as it is.
func TestMarkAgain_EndsWithATakenJob(t *testing.T) {
	job := jobFacts{uid: "job-1", control: controlOwner, state: Active}
	m := machine{view: view{named: true}, stage: stageMark}
	m.found = m.live(job)
	sent := 0
	for m.stage == stageMark && sent < 10 {
		sent++
		m = m.answer(answer{verdict: verdictInvalid})
		assert.Equal(t, stageMarkAgain, m.stage)
		m = m.answer(answer{verdict: verdictDone, job: job})
	}
	assert.Equal(t, maxTries, sent)
	assert.EqualValues(t, "job-1", m.ref.uid)
}

// TestSuspend_NotesHowAJobHasEnded: the Job finishes before a call that has
// found it can suspend it. The Guard remembers that, as below.
func TestSuspend_NotesHowAJobHasEnded(t *testing.T) {
	job := jobFacts{uid: "job-1", control: controlOwner, state: Active}
	m := machine{view: view{suspend: wishSuspend}, stage: stageSuspend}
	m.found = m.live(job)
	m.ref.uid = job.uid
	m.adopted = true
	job.state = Finished
	job.outcome = Failed
	m = m.answer(answer{verdict: verdictDone, job: job})
	assert.Equal(t, Failed, m.ref.outcome)
	assert.Equal(t, Failed, m.notes.seen.outcome)
}

// TestEnter_NotesHowAJobHasEnded: the Job finishes while it is taken over. If
// the write of its Ref fails and someone deletes the Job, the Guard knows that.
func TestEnter_NotesHowAJobHasEnded(t *testing.T) {
	job := jobFacts{uid: "job-1", control: controlOwner, state: Active}
	m := machine{view: view{named: true}, stage: stageMark}
	m.found = m.live(job)
	m.notes.seen = job
	m = m.answer(answer{verdict: verdictInvalid})
	job.state = Finished
	job.outcome = Succeeded
	m = m.answer(answer{verdict: verdictDone, job: job})
	job.annotated = true
	m = m.answer(answer{verdict: verdictDone, job: job})
	assert.Equal(t, stageEnd, m.stage)
	assert.Equal(t, Succeeded, m.ref.outcome)
	assert.Equal(t, Succeeded, m.notes.seen.outcome)
}
