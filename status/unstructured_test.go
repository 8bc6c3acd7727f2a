// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

// conditionsAt returns the unstructured conditions of a copy, to be changed.
func conditionsAt(u *unstructured.Unstructured) (*unstructured.Unstructured, []map[string]any) {
	u = u.DeepCopy()
	var list []map[string]any
	for _, c := range u.Object["status"].(map[string]any)["conditions"].([]any) {
		list = append(list, c.(map[string]any))
	}
	return u, list
}

func TestPatch_UnstructuredConditions(t *testing.T) {
	before := loose(map[string]any{
		"observedGeneration": int64(1), "updatedAt": "2025-06-01T11:00:00.5Z",
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": "2025-06-01T11:00:00.123Z", "severity": "Info"},
			map[string]any{"type": "Other", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2025-06-01T11:00:00.123Z"},
		},
	})
	patched := func(t *testing.T, after *unstructured.Unstructured) []any {
		t.Helper()
		patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
		require.NoError(t, err)
		if patch == nil {
			return nil
		}
		require.NotEmpty(t, patch)
		return conditionList(after)
	}
	t.Run("ALaterTimeIsNoTransition", func(t *testing.T) {
		after, conds := conditionsAt(before)
		conds[0]["lastTransitionTime"] = "2025-06-01T12:00:00Z"
		assert.Nil(t, patched(t, after), "nor is the message that it lacks")
		assert.Equal(t, before, after)
	})
	t.Run("AMessageKeepsTheTime", func(t *testing.T) {
		after, conds := conditionsAt(before)
		conds[0]["message"], conds[0]["lastTransitionTime"] = "new", "2025-06-01T12:00:00Z"
		assert.Equal(t, map[string]any{
			"type": "Ready", "status": "True", "reason": "Ok", "message": "new",
			"lastTransitionTime": "2025-06-01T11:00:00.123Z", "severity": "Info",
		}, patched(t, after)[0], "in its stored form, and without a generation, which the stored condition does not have")
	})
	t.Run("AStatusGetsAGeneration", func(t *testing.T) {
		typed := bigRun()
		typed.Status.Conditions[0].ObservedGeneration = 0
		next := typed.DeepCopy()
		next.Status.Conditions[0].Status = "False"
		_, err := status.FieldNames{}.Patch(typed, next, running, noon)
		require.NoError(t, err)
		assert.EqualValues(t, 3, next.Status.Conditions[0].ObservedGeneration, "a new condition is of the spec that was read")
	})
	t.Run("AGenerationOfTheCaller", func(t *testing.T) {
		after, conds := conditionsAt(before)
		conds[0]["observedGeneration"] = int64(1)
		assert.Equal(t, int64(1), patched(t, after)[0].(map[string]any)["observedGeneration"])
	})
	t.Run("AFieldOfTheirOwn", func(t *testing.T) {
		after, conds := conditionsAt(before)
		conds[0]["severity"] = "Error"
		assert.Equal(t, "Error", patched(t, after)[0].(map[string]any)["severity"], "is a change")
		after, conds = conditionsAt(before)
		delete(conds[0], "severity")
		assert.NotContains(t, patched(t, after)[0], "severity")
	})
	t.Run("AnErrorChangesNothing", func(t *testing.T) {
		after, conds := conditionsAt(before)
		conds[0]["reason"], conds[1]["status"] = "not ok", "Perhaps"
		kept := after.DeepCopy()
		_, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
		require.ErrorContains(t, err, "status.conditions[1].status")
		assert.Equal(t, kept, after)
	})
}

func TestPatch_CorrectsAnInvalidStoredCondition(t *testing.T) {
	before := loose(map[string]any{
		"observedGeneration": int64(1), "updatedAt": "2025-06-01T11:00:00Z",
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": "yesterday"}},
	})
	after, conds := conditionsAt(before)
	delete(conds[0], "lastTransitionTime")
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"lastTransitionTime":"2025-06-01T12:00:00Z"`)
}

func TestPatch_InvalidStoredConditionsBlockNothing(t *testing.T) {
	stored := map[string]any{
		"phase": "Pending",
		"conditions": []any{
			"not a condition",
			map[string]any{"type": "Bad Type", "status": "maybe"},
			map[string]any{"type": "Twice", "status": "True"},
			map[string]any{"type": "Twice", "status": "False"},
			map[string]any{"type": "Ready", "status": "False"},
		},
	}
	before := loose(stored)
	after := before.DeepCopy()
	ready := after.Object["status"].(map[string]any)["conditions"].([]any)[4].(map[string]any)
	ready["status"], ready["reason"] = "True", "Ok"
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"observedGeneration":1,"updatedAt":"2025-06-01T12:00:00Z","conditions":[
		"not a condition", {"type":"Bad Type","status":"maybe"}, {"type":"Twice","status":"True"}, {"type":"Twice","status":"False"},
		{"type":"Ready","status":"True","reason":"Ok"}]}}`, string(patch))
}
