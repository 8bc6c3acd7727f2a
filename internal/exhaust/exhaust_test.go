// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package exhaust_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/internal/exhaust"
)

// counter is two workers that add one to a number, in two steps each: a read
// and a write. Lost says that one of them may forget what it read.
type counter struct {
	sum  int
	at   [2]int // 0: nothing done; 1: has read; 2: has written
	read [2]int
	lost int // budget
}

// step is what a worker does next. With locked, it reads only while no other
// has read and not written.
func (s counter) step(i int, locked bool) (counter, bool) {
	switch s.at[i] {
	case 0:
		if locked && s.at[1-i] == 1 {
			return s, false
		}
		s.read[i] = s.sum
		s.at[i] = 1
	case 1:
		s.sum = s.read[i] + 1
		s.at[i] = 2
	default:
		return s, false
	}
	return s, true
}

// next yields what may happen: a step, or the loss of what a worker has read.
func (s counter) next(locked bool, yield func(string, counter)) {
	for i := range s.at {
		after, can := s.step(i, locked)
		if can {
			yield("step", after)
		}
		if s.lost > 0 && s.at[i] == 1 {
			after := s
			after.lost--
			after.at[i] = 0
			yield("forget", after)
		}
	}
}

// counting is the model of two workers that add one each.
func counting(locked bool) exhaust.Model[counter, string] {
	step := func(s counter, i int) (counter, bool) { return s.step(i, locked) }
	return exhaust.Model[counter, string]{
		Name: "counter", Budgets: "lost 1", Start: counter{lost: 1}, MaxStates: 1000, MaxCalm: 10,
		Next: func(s counter, yield func(string, counter)) { s.next(locked, yield) },
		Check: func(s counter) string {
			if s.at == [2]int{2, 2} && s.sum != 2 {
				return "an addition is lost"
			}
			return ""
		},
		Calm: func(s counter) counter {
			for i := range s.at {
				after, can := step(s, 1-i)
				if can {
					return after
				}
			}
			return s
		},
		Right: func(s counter) string {
			if s.sum != 2 {
				return "the sum is not 2"
			}
			return ""
		},
		Mark: func(s counter) string {
			if s.lost == 0 {
				return "forgot"
			}
			return ""
		},
	}
}

func TestSearch_FindsASeededBug(t *testing.T) {
	m := counting(false)
	_, err := m.Search()
	require.ErrorContains(t, err, "an addition is lost")
	assert.ErrorContains(t, err, "  start\n  step", "the events lead to the state")
}

func TestSearch_VisitsEachStateOnce(t *testing.T) {
	m := counting(true)
	report, err := m.Search()
	require.NoError(t, err)
	assert.True(t, report.Complete)
	assert.Equal(t, 20, report.States)
	assert.Positive(t, report.Marks["forgot"])
	assert.Contains(t, report.String(), "counter: budgets lost 1, 20 states")
	assert.Contains(t, report.String(), "complete")
}

func TestSearch_FailsIfItStopsForItsCap(t *testing.T) {
	m := counting(true)
	m.MaxStates = 5
	report, err := m.Search()
	require.ErrorIs(t, err, exhaust.ErrTooMany)
	assert.False(t, report.Complete)
	assert.Contains(t, report.String(), "INCOMPLETE")
}

func TestSearch_FindsAWorldThatEndsWrong(t *testing.T) {
	for wrong, calm := range map[string]func(counter) counter{
		"at rest: the sum is not 2": func(s counter) counter { return s },
		"no rest after 10 calm steps": func(s counter) counter {
			s.lost++
			return s
		},
	} {
		m := counting(true)
		m.Calm = calm
		_, err := m.Search()
		assert.ErrorContains(t, err, wrong)
	}
}
