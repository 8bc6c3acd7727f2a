// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestIsRecent_IsWithinAMinute: to restore the API server's store takes longer,
// so what was recorded in that time is stored.
func TestIsRecent_IsWithinAMinute(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	cases := map[string]struct {
		recorded *metav1.Time
		want     bool
	}{
		"Now":          {at(0), true},
		"JustWithin":   {at(-59 * time.Second), true},
		"AMinuteAgo":   {at(-time.Minute), false},
		"InTheFuture":  {at(time.Second), false}, // another clock
		"NotRecorded":  {nil, false},
		"WithoutATime": {&metav1.Time{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, isRecent(tc.recorded, now))
		})
	}
}

// TestTakeNotes_WithoutTheJob: the name may belong to another Job when a call
// ends.
func TestTakeNotes_WithoutTheJob(t *testing.T) {
	c := &call{g: &Guard{memory: newMemory(1)}}
	c.machine.notes.seen = jobFacts{uid: "a"}
	c.takeNotes(t.Context())
	assert.Empty(t, c.g.memory.jobs.m)
}
