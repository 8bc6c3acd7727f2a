// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package jobgc

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestIsPast_KnowsAJobByWhatIsLeft: a policy may take the annotations or the
// finalizer away. Only a Job that has neither is from before Step.
func TestIsPast_KnowsAJobByWhatIsLeft(t *testing.T) {
	m := machine{view: view{named: true, ended: true}}
	assert.True(t, m.isPast(jobFacts{}))
	assert.False(t, m.isPast(jobFacts{annotated: true}))
	assert.False(t, m.isPast(jobFacts{held: true}))
	assert.False(t, m.isPast(jobFacts{annotated: true, held: true}))
}

// TestAwaitsWrite: the Ref of a Job that the cache lacks is returned again, but
// not if more is known of the Job, or if it has to be changed.
func TestAwaitsWrite(t *testing.T) {
	known := recollection{uid: "a", given: wishRun}
	for name, c := range map[string]struct {
		edit func(*machine)
		want bool
	}{
		"Given":       {func(*machine) {}, true},
		"LongAgo":     {func(m *machine) { m.memory.given = wishNone }, false},
		"Missed":      {func(m *machine) { m.memory.missed = true }, false},
		"Ended":       {func(m *machine) { m.memory.outcome = Failed }, false},
		"Shown":       {func(m *machine) { m.cached = jobFacts{uid: "a"} }, false},
		"Cancelled":   {func(m *machine) { m.cancel = true }, false},
		"Deleting":    {func(m *machine) { m.deleting = true }, false},
		"RunsAsAsked": {func(m *machine) { m.suspend = wishRun }, true},
		"ToSuspend":   {func(m *machine) { m.suspend = wishSuspend }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine{informer: true, stage: stageFind}
			m.memory = known
			c.edit(&m)
			m, asks := m.next()
			if !c.want {
				assert.NotEqual(t, requestNone, asks)
				return
			}
			assert.Equal(t, requestNone, asks)
			assert.Equal(t, Pending, m.found.state)
			assert.EqualValues(t, "a", m.ref.uid)
		})
	}
}
