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
