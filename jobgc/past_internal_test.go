// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPast_KeepsTheFirstTimeOfEachNote(t *testing.T) {
	later := began.Add(time.Hour)
	first := past{absent: began, missed: began}
	cases := map[string]struct {
		reason string
		past   past
		notes  notes
		want   past
	}{
		"Nothing":  {"A note about another thing begins no wait.", past{}, notes{loss: Missing}, past{loss: Missing}},
		"Absent":   {"The wait for a delete event begins.", past{}, notes{absent: true}, past{absent: later}},
		"Missed":   {"The wait for a delete event begins.", past{}, notes{missed: true}, past{missed: later}},
		"Again":    {"A wait that has begun goes on.", first, notes{absent: true, missed: true}, first},
		"Agreed":   {"The stored owner is as the copy: the return is over.", past{fate: fateReturned}, notes{agreed: true}, past{}},
		"Returned": {"The return lasts until then.", past{fate: fateReturned}, notes{absent: true}, past{fate: fateReturned, absent: later}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.past.keeps(tc.notes, later), tc.reason)
		})
	}
}

// TestPast_KeepsADeletionThatCameWhileTheOwnerWasRead after a restore: the
// delete event has the result.
func TestPast_KeepsADeletionThatCameWhileTheOwnerWasRead(t *testing.T) {
	now := time.Now()
	back := past{uid: "job-1"}.isBack()
	assert.Equal(t, fateUnknown, back.keeps(notes{agreed: true}, now).fate, "the owner agrees")
	gone := back.isRemoved(Observation{State: Finished, Outcome: Succeeded}, false, now)
	after := gone.keeps(notes{agreed: true}, now)
	assert.Equal(t, fateRemoved, after.fate)
	assert.Equal(t, Succeeded, after.last.Outcome)
}
