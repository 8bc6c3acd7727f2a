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
)

//req:shows S2
func TestPatch_WritesChanges(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Run)
		facts  status.Facts
		want   string // of the status, updatedAt apart; empty for no patch
	}{
		"Nothing": {
			reason: "An idle object is not written.",
			change: func(*Run) {}, facts: running,
		},
		"OnlyTheSpec": {
			reason: "The spec is not the status's.",
			change: func(r *Run) { r.Spec.Image, r.Labels = "x", map[string]string{"a": "b"} }, facts: running,
		},
		"Field": {
			reason: "One field is one key.",
			change: func(r *Run) { r.Status.Phase = "Stopping" }, facts: running,
			want: `{"phase":"Stopping"}`,
		},
		"Cleared": {
			reason: "A cleared field is null, or the old text would stay forever.",
			change: func(r *Run) { r.Status.Phase = "" }, facts: running,
			want: `{"phase":null}`,
		},
		"NestedCleared": {
			reason: "A merge patch merges objects: a field that is gone must be null.",
			change: func(r *Run) { r.Status.JobRef = &JobRef{Name: "other"} }, facts: running,
			want: `{"jobRef":{"name":"other","uid":null}}`,
		},
		"ObjectCleared": {
			reason: "And a whole object too.",
			change: func(r *Run) { r.Status.JobRef = nil }, facts: running,
			want: `{"jobRef":null}`,
		},
		"MapKeys": {
			reason: "Keys of a map come and go.",
			change: func(r *Run) { r.Status.Runtime = map[string]string{"zone": "b", "rack": "7"} }, facts: running,
			want: `{"runtimeRef":{"node":null,"rack":"7","zone":"b"}}`,
		},
		"EmptyMapForNone": {
			reason: "Empty and absent are the same where the field is omitted when empty.",
			change: func(r *Run) { r.Status.Message, r.Status.Steps[0].StartedAt = "", at(300*time.Millisecond) }, facts: running,
		},
		"List": {
			reason: "A list is replaced whole.",
			change: func(r *Run) { r.Status.Steps = r.Status.Steps[:1]; r.Status.Steps[0].Phase = "Succeeded" }, facts: running,
			want: `{"steps":[{"name":"step-0","phase":"Succeeded","startedAt":"2025-06-01T12:00:00Z"}]}`,
		},
		"Finished": {
			reason: "The contract's times come from the facts.",
			change: func(r *Run) { r.Status.Phase = "Succeeded" }, facts: done,
			want: `{"finishedAt":"2025-06-01T13:00:00Z","phase":"Succeeded"}`,
		},
		"TimesSetByHand": {
			reason: "What after holds in the contract's fields does not count.",
			change: func(r *Run) { r.Status.Stamp = status.Stamp{ObservedGeneration: 99, FinishedAt: at(0)} }, facts: running,
		},
		"ConditionsBuiltAnew": {
			reason: "The same conditions with new times, in another order, do not count as a change.",
			change: func(r *Run) {
				conds := r.Status.Conditions
				conds[0], conds[4] = conds[4], conds[0]
				for i := range conds {
					conds[i].LastTransitionTime = *at(time.Hour)
				}
			}, facts: running,
		},
		"ConditionsCleared": {
			reason: "The schema may require the list.",
			change: func(r *Run) { r.Status.Conditions = []metav1.Condition{} }, facts: running,
			want: `{"conditions":[]}`,
		},
		"ConditionSetByHand": {
			reason: "A condition that was put in by hand gets what the API requires.",
			change: func(r *Run) {
				r.Status.Conditions = []metav1.Condition{{Type: "New", Status: "True", Reason: "made up!"}}
			}, facts: running,
			want: `{"conditions":[{"lastTransitionTime":"2025-06-01T13:00:00Z","message":"","observedGeneration":3,` +
				`"reason":"made_up","status":"True","type":"New"}]}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := bigRun()
			after := before.DeepCopy()
			tc.change(after)
			patch, err := status.FieldNames{}.Patch(before, after, tc.facts, noon.Add(time.Hour))
			require.NoError(t, err)
			assert.Equal(t, bigRun(), before, "before is never changed")
			if tc.want == "" {
				assert.Nil(t, patch, tc.reason)
				assert.JSONEq(t, encode(t, before.Status.Stamp), encode(t, after.Status.Stamp))
				return
			}
			var got struct {
				Metadata map[string]any
				Status   map[string]any
			}
			require.NoError(t, json.Unmarshal(patch, &got))
			assert.Equal(t, map[string]any{"resourceVersion": "4711"}, got.Metadata, "pinned to the version of before")
			assert.Equal(t, "2025-06-01T13:00:00Z", got.Status["updatedAt"], "each write is stamped")
			delete(got.Status, "updatedAt")
			assert.JSONEq(t, tc.want, encode(t, got.Status), tc.reason)
			assert.True(t, at(time.Hour).Equal(after.Status.UpdatedAt))

			again, err := status.FieldNames{}.Patch(after, after.DeepCopy(), tc.facts, noon.Add(2*time.Hour))
			require.NoError(t, err)
			assert.Nil(t, again, "after equals the stored object: nothing to write")
		})
	}
}

func TestPatch_EmptyListOfConditionsEqualsNone(t *testing.T) {
	before := bigRun()
	before.Status.Conditions = nil
	after := before.DeepCopy()
	after.Status.Conditions = []metav1.Condition{}
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

//req:shows S1
func TestPatch_GenerationAloneIsOneWrite(t *testing.T) {
	before := bigRun()
	before.Generation = 4
	after := before.DeepCopy()
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"4711"},"status":{"observedGeneration":4,"updatedAt":"2025-06-01T12:00:00Z"}}`, string(patch))
	patch, err = status.FieldNames{}.Patch(after, after.DeepCopy(), running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch)
}

func TestPatch_KeptTimesAreCopies(t *testing.T) {
	before := bigRun()
	after := before.DeepCopy()
	after.Status.StartedAt, after.Status.Phase = nil, "Stopping"
	_, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	require.True(t, before.Status.StartedAt.Equal(after.Status.StartedAt))
	assert.NotSame(t, before.Status.StartedAt, after.Status.StartedAt)
}
