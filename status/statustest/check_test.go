// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

//req:shows S4
func TestCheck_ReportsEachBreach(t *testing.T) {
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
		"WentBack":       {"The generation may not.", full, with(func(s *stamp) { s.ObservedGeneration = 1 }), []string{"status/statustest: observedGeneration went back from 2 to 1"}},
		"Ahead":          {"Nor be ahead.", full, with(func(s *stamp) { s.ObservedGeneration = 9 }), []string{"observedGeneration is 9, ahead of generation 3"}},
		"StartMoved":     {"A start stays.", full, with(func(s *stamp) { s.StartedAt = at(time.Second) }), []string{"startedAt moved from 2025-06-01T12:00:00Z to 2025-06-01T12:00:01Z"}},
		"StartCleared":   {"And is not forgotten.", full, with(func(s *stamp) { s.StartedAt = nil }), []string{"startedAt moved from 2025-06-01T12:00:00Z to unset"}},
		"FinishMoved":    {"Nor is the end.", full, with(func(s *stamp) { s.FinishedAt = nil }), []string{"finishedAt moved"}},
		"EndBeforeStart": {"No negative length.", stamp{}, with(func(s *stamp) { s.FinishedAt = at(-time.Minute) }), []string{"finishedAt 2025-06-01T11:59:00Z is before startedAt"}},
		"NoUpdatedAt":    {"A write is stamped.", stamp{}, stamp{ObservedGeneration: 1}, []string{"updatedAt is not set"}},
		"UpdatedCleared": {"And stays so.", full, with(func(s *stamp) { s.UpdatedAt = nil }), []string{"updatedAt is not set"}},
		"AllAtOnce":      {"Check returns every breach.", full, stamp{}, []string{"observedGeneration", "startedAt", "finishedAt", "updatedAt"}},
	}
	t.Run("Conditions", func(t *testing.T) {
		errs := statustest.Check(full, full, 3,
			metav1.Condition{Type: "Ready", ObservedGeneration: 2},
			metav1.Condition{Type: "Stalled", ObservedGeneration: 1},
			metav1.Condition{Type: "Bound"},
		)
		require.Len(t, errs, 2, "Each condition that a reconcile sets carries the generation.")
		require.EqualError(t, errs[0], "status/statustest: the condition Stalled carries the generation 1; want that of the spec that was read")
		require.ErrorContains(t, errs[1], "the condition Bound carries the generation 0")
		for generation, count := range map[int64]int{0: 1, 2: 0, 3: 0, 4: 1} {
			errs = statustest.Check(stamp{}, stamp{}, 3, metav1.Condition{Type: "Bound", ObservedGeneration: generation})
			require.Len(t, errs, count, "The spec may have changed since the read of generation %d.", generation)
		}
	})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := statustest.Check(tc.before, tc.after, 3)
			require.Len(t, errs, len(tc.says), tc.reason)
			for i, err := range errs {
				require.ErrorContains(t, err, tc.says[i])
			}
		})
	}
}
