// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

//req:shows S4
func TestCheck(t *testing.T) {
	type stamp = status.Stamp
	full := stamp{ObservedGeneration: 2, UpdatedAt: at(0), StartedAt: at(0), FinishedAt: at(time.Minute)}
	with := func(change func(*stamp)) stamp {
		s := *full.DeepCopy()
		change(&s)
		return s
	}
	cases := map[string]struct {
		reason        string
		before, after stamp
		says          []string
	}{
		"Same":           {"Nothing happened.", full, full, nil},
		"First":          {"One write set every field.", stamp{}, full, nil},
		"Empty":          {"There was no write yet.", stamp{}, stamp{}, nil},
		"ClockWentBack":  {"updatedAt may.", full, with(func(s *stamp) { s.UpdatedAt = at(-time.Hour) }), nil},
		"Milliseconds":   {"Whole seconds count.", full, with(func(s *stamp) { s.StartedAt = at(time.Millisecond) }), nil},
		"WentBack":       {"The generation may not.", full, with(func(s *stamp) { s.ObservedGeneration = 1 }), []string{"observedGeneration went back from 2 to 1"}},
		"Ahead":          {"Nor be ahead.", full, with(func(s *stamp) { s.ObservedGeneration = 9 }), []string{"observedGeneration is 9, ahead of generation 3"}},
		"StartMoved":     {"A start stays.", full, with(func(s *stamp) { s.StartedAt = at(time.Second) }), []string{"startedAt moved from 2025-06-01T12:00:00Z to 2025-06-01T12:00:01Z"}},
		"StartCleared":   {"And is not forgotten.", full, with(func(s *stamp) { s.StartedAt = nil }), []string{"startedAt moved from 2025-06-01T12:00:00Z to unset"}},
		"FinishMoved":    {"Nor is the end.", full, with(func(s *stamp) { s.FinishedAt = nil }), []string{"finishedAt moved"}},
		"EndBeforeStart": {"No negative length.", stamp{}, with(func(s *stamp) { s.FinishedAt = at(-time.Minute) }), []string{"finishedAt 2025-06-01T11:59:00Z is before startedAt"}},
		"NoUpdatedAt":    {"A write is stamped.", stamp{}, stamp{ObservedGeneration: 1}, []string{"updatedAt is not set"}},
		"UpdatedCleared": {"And stays so.", full, with(func(s *stamp) { s.UpdatedAt = nil }), []string{"updatedAt is not set"}},
		"AllAtOnce":      {"Check returns every breach.", full, stamp{}, []string{"observedGeneration", "startedAt", "finishedAt", "updatedAt"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := status.Check(tc.before, tc.after, 3)
			require.Len(t, errs, len(tc.says), tc.reason)
			for i, err := range errs {
				require.ErrorContains(t, err, tc.says[i])
			}
		})
	}
}

func TestFieldNames_Stamp(t *testing.T) {
	want := status.Stamp{ObservedGeneration: 3, UpdatedAt: at(0), StartedAt: at(0)}
	run := bigRun()
	got, err := status.FieldNames{}.Stamp(run)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.NotSame(t, run.Status.StartedAt, got.StartedAt, "a copy")

	got, err = status.FieldNames{}.Stamp(asUnstructured(t, run))
	require.NoError(t, err)
	assert.True(t, got.StartedAt.Equal(want.StartedAt))

	got, err = status.FieldNames{StartedAt: "startTime"}.Stamp(&unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"startTime": "2025-06-01T12:00:00Z", "observedGeneration": 2.0},
	}})
	require.NoError(t, err)
	assert.EqualValues(t, 2, got.ObservedGeneration)
	assert.True(t, got.StartedAt.Equal(at(0)))

	for name, o := range map[string]status.Object{"Nil": nil, "NilPointer": (*Run)(nil), "NoStatus": &metav1.PartialObjectMetadata{}, "Text": loose("x")} {
		_, err := status.FieldNames{}.Stamp(o)
		require.Error(t, err, name)
	}
	got, err = status.FieldNames{}.Stamp(&ptrStatus{})
	require.NoError(t, err)
	assert.Zero(t, got, "no status yet")
}
