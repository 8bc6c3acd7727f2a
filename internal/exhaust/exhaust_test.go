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
// and a write.
type counter struct {
	sum  int
	at   [2]int // 0: nothing done; 1: has read; 2: has written
	read [2]int
}

// steps yields what a worker may do next. With locked, it reads only while no
// other has read and not written.
func (s counter) steps(locked bool, yield func(string, counter)) {
	for i := range s.at {
		after := s
		after.at[i]++
		switch {
		case s.at[i] == 0 && locked && s.at[1-i] == 1:
		case s.at[i] == 0:
			after.read[i] = s.sum
			yield("read", after)
		case s.at[i] == 1:
			after.sum = s.read[i] + 1
			yield("write", after)
		}
	}
}

// counting is the model of two workers that add one each.
func counting(locked bool) exhaust.Model[counter, string] {
	return exhaust.Model[counter, string]{
		Name: "counter", Budgets: "none", MaxStates: 1000, MaxCalm: 10,
		Next: func(s counter, yield func(string, counter)) { s.steps(locked, yield) },
		Check: func(s counter) string {
			if s.at == [2]int{2, 2} && s.sum != 2 {
				return "an addition is lost"
			}
			return ""
		},
		Calm: func(s counter) counter {
			last := s
			s.steps(locked, func(_ string, after counter) { last = after })
			return last
		},
		Right: func(s counter) string {
			if s.sum != 2 {
				return "the sum is not 2"
			}
			return ""
		},
		Mark: func(s counter) string {
			if s.sum == 1 {
				return "half"
			}
			return ""
		},
	}
}

func TestSearch_FindsASeededBug(t *testing.T) {
	m := counting(false)
	_, err := m.Search()
	require.ErrorContains(t, err, "an addition is lost")
	assert.ErrorContains(t, err, "  start\n  read", "the events lead to the state")
}

func TestSearch_VisitsEachStateOnce(t *testing.T) {
	m := counting(true)
	report, err := m.Search()
	require.NoError(t, err)
	assert.True(t, report.Complete)
	assert.Equal(t, 9, report.States)
	assert.Equal(t, 4, report.Marks["half"])
	assert.Contains(t, report.String(), "counter: budgets none, 9 states")
	assert.Contains(t, report.String(), "complete")
}

// The world comes to the states 2 and 3 in two ways of different lengths.
func TestSearch_EntersNoStateTwice(t *testing.T) {
	var entered []int
	m := exhaust.Model[int, string]{
		MaxStates: 10,
		Check: func(s int) string {
			entered = append(entered, s)
			return ""
		},
		Next: func(s int, yield func(string, int)) {
			if s < 3 {
				yield("two more", s+2)
				yield("one more", s+1)
			}
		},
	}
	_, err := m.Search()
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2, 3, 4}, entered)
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
			s.sum++
			return s
		},
	} {
		m := counting(true)
		m.Calm = calm
		_, err := m.Search()
		assert.ErrorContains(t, err, wrong)
	}
}
