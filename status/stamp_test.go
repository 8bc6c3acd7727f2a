// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

func TestObserve(t *testing.T) {
	type stamp = status.Stamp
	cases := map[string]struct {
		reason     string
		stored     stamp
		facts      status.Facts
		generation int64
		want       stamp
		unchanged  bool
	}{
		"FirstSight": {
			reason: "A waiting object has been seen, and nothing more.",
			facts:  status.Facts{}, generation: 1, want: stamp{ObservedGeneration: 1},
		},
		"Started": {
			reason: "The first Running sets startedAt.",
			stored: stamp{ObservedGeneration: 1},
			facts:  running, generation: 1, want: stamp{ObservedGeneration: 1, StartedAt: at(0)},
		},
		"StartedAsKnown": {
			reason: "What a Job tells is truer than when it was seen.",
			facts:  status.Facts{Progress: status.Running, StartedAt: noon.Add(-time.Hour)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour)},
		},
		"StartedForGood": {
			reason: "startedAt never moves, also if later facts differ.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(-time.Minute)},
			facts:  status.Facts{Progress: status.Running, StartedAt: noon.Add(-time.Hour)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Minute)}, unchanged: true,
		},
		"Finished": {
			reason: "The first Done sets finishedAt.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(-time.Minute)},
			facts:  done, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Minute), FinishedAt: at(0)},
		},
		"FinishedAsKnown": {
			reason: "A Job knows when it ended.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour)},
			facts:  status.Facts{Progress: status.Done, FinishedAt: noon.Add(-time.Minute)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute)},
		},
		"FinishedForGood": {
			reason: "finishedAt never moves, although the generation of a finished object does.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute)},
			facts:  done, generation: 2,
			want: stamp{ObservedGeneration: 2, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute)},
		},
		"RunningAgain": {
			reason: "A retry is a new run: this one keeps both times.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute)},
			facts:  running, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute)}, unchanged: true,
		},
		"JobsTimesOutOfOrder": {
			reason: "A Job that ended before it was seen running has no negative length.",
			stored: stamp{ObservedGeneration: 1, StartedAt: at(0)},
			facts:  status.Facts{Progress: status.Done, FinishedAt: noon.Add(-time.Second)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(0), FinishedAt: at(0)},
		},
		"StartKnownLate": {
			reason: "A start that is learnt after the end is taken if it is before it.",
			stored: stamp{ObservedGeneration: 1, FinishedAt: at(0)},
			facts:  status.Facts{Progress: status.Done, StartedAt: noon.Add(-time.Minute)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(-time.Minute), FinishedAt: at(0)},
		},
		"TimesOfTheFuturePhase": {
			reason: "A waiting object has no times, also if the facts have some.",
			stored: stamp{ObservedGeneration: 1},
			facts:  status.Facts{StartedAt: noon, FinishedAt: noon}, generation: 1,
			want: stamp{ObservedGeneration: 1}, unchanged: true,
		},
		"NotFinishedWhileRunning": {
			reason: "A finish is for Done.",
			stored: stamp{ObservedGeneration: 1},
			facts:  status.Facts{Progress: status.Running, FinishedAt: noon}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(0)},
		},
		"Milliseconds": {
			reason: "Times are whole seconds, as the API stores them.",
			stored: stamp{ObservedGeneration: 1},
			facts:  status.Facts{Progress: status.Running, StartedAt: noon.Add(999 * time.Millisecond)}, generation: 1,
			want: stamp{ObservedGeneration: 1, StartedAt: at(0)},
		},
		"ZeroTimeStored": {
			reason: "A pointer to the zero time is what null decodes to in a value: not set.",
			stored: stamp{ObservedGeneration: 1, StartedAt: &metav1.Time{}},
			facts:  running, generation: 1, want: stamp{ObservedGeneration: 1, StartedAt: at(0)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := *tc.stored.DeepCopy()
			changed, err := got.Observe(tc.facts, tc.generation, noon)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got, tc.reason)
			assert.Equal(t, !tc.unchanged, changed, tc.reason)
			if tc.stored.StartedAt.IsZero() {
				tc.stored.StartedAt = nil
			}
			got.UpdatedAt = at(0)
			assert.Empty(t, statustest.Check(tc.stored, got, tc.generation))

			again, err := got.Observe(tc.facts, tc.generation, noon.Add(time.Hour))
			require.NoError(t, err)
			assert.False(t, again, "the same facts again change nothing")
		})
	}
}

func TestObserve_Refuses(t *testing.T) {
	cases := map[string]struct {
		facts      status.Facts
		generation int64
		now        time.Time
		names      string
	}{
		"ZeroNow":            {running, 3, time.Time{}, "now"},
		"UnknownProgress":    {status.Facts{Progress: 3}, 3, noon, "Facts.Progress"},
		"NegativeProgress":   {status.Facts{Progress: -1}, 3, noon, "Facts.Progress"},
		"NegativeGeneration": {running, -1, noon, "generation is -1; want metadata.generation"},
		"OlderGeneration":    {running, 2, noon, "3 is stored"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := status.Stamp{ObservedGeneration: 3}
			changed, err := s.Observe(tc.facts, tc.generation, tc.now)
			require.ErrorContains(t, err, tc.names)
			assert.False(t, changed)
			assert.Equal(t, status.Stamp{ObservedGeneration: 3}, s, "an error changes nothing")
		})
	}
	_, err := (*status.Stamp)(nil).Observe(running, 1, noon)
	require.ErrorContains(t, err, "the Stamp is nil")
}

func TestStamp_DeepCopy(t *testing.T) {
	s := &status.Stamp{ObservedGeneration: 1, UpdatedAt: at(0), StartedAt: at(0), FinishedAt: at(0)}
	c := s.DeepCopy()
	assert.Equal(t, s, c)
	assert.NotSame(t, s.UpdatedAt, c.UpdatedAt)
	assert.NotSame(t, s.StartedAt, c.StartedAt)
	assert.NotSame(t, s.FinishedAt, c.FinishedAt)
	assert.Nil(t, (*status.Stamp)(nil).DeepCopy())
	assert.Equal(t, &status.Stamp{}, new(status.Stamp).DeepCopy())
}

func TestStamp_IsInlinedInJSON(t *testing.T) {
	raw, err := json.Marshal(RunStatus{Stamp: status.Stamp{ObservedGeneration: 2, StartedAt: at(0)}, Phase: "Running"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"observedGeneration":2,"startedAt":"2025-06-01T12:00:00Z","phase":"Running"}`, string(raw))
}
