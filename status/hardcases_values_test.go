// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
)

func TestObserve_DoneBeforeRunning(t *testing.T) {
	var s status.Stamp
	changed, err := s.Observe(done, 1, noon)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Nil(t, s.StartedAt, "a run of no length is not invented")
	assert.Equal(t, at(0), s.FinishedAt)

	var known status.Stamp
	_, err = known.Observe(status.Facts{Progress: status.Done, StartedAt: noon.Add(-time.Minute)}, 1, noon)
	require.NoError(t, err)
	assert.Equal(t, at(-time.Minute), known.StartedAt, "but what a Job tells is taken")

	_, err = s.Observe(running, 1, noon.Add(time.Minute))
	require.NoError(t, err)
	assert.Nil(t, s.StartedAt, "a start after the end is none")
}

//req:shows S3
func TestCommit_RunningAgainAfterDone(t *testing.T) {
	s, _ := start(t)
	for i, f := range []status.Facts{running, done, running, done} {
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		after.Status.Phase = []string{"Running", "Failed", "Running", "Succeeded"}[i]
		_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, f)
		require.NoError(t, err)
		stored := get[Run](t, s, "a")
		assert.Empty(t, statustest.Check(before.Status.Stamp, stored.Status.Stamp, stored.Generation))
		assert.Equal(t, i >= 1, stored.Status.FinishedAt != nil)
	}
}

func TestPatch_ClockGoingBack(t *testing.T) {
	before := &Run{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 1}}
	before.Status.Stamp = status.Stamp{ObservedGeneration: 1, UpdatedAt: at(time.Hour), StartedAt: at(time.Hour)}
	after := before.DeepCopy()
	after.Status.Phase = "Succeeded"
	patch, err := status.FieldNames{}.Patch(before, after, done, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{
		"phase":"Succeeded","finishedAt":"2025-06-01T13:00:00Z","updatedAt":"2025-06-01T12:00:00Z"}}`, string(patch),
		"the end is not before the start; updatedAt is the writer's own clock")
	assert.Empty(t, statustest.Check(before.Status.Stamp, after.Status.Stamp, 1))
}

func TestCommit_StatusWrittenByATypeScriptClient(t *testing.T) {
	s, _ := start(t)
	s.restatus("a", `{"startedAt":"2025-06-01T11:59:00.123Z","updatedAt":"2025-06-01T11:59:00.999Z","cursor":{"page":9007199254740993},
		"conditions":[
		  {"type":"Ready","status":"True","reason":"Running","message":"","lastTransitionTime":"2025-06-01T11:59:00.123Z","severity":"Info"},
		  {"type":"Other","status":"True","lastTransitionTime":"2025-06-01T11:59:00.123Z","link":"https://example.com/a?b=1&c=2"}]}`)
	w := status.Writer{}
	before := get[unstructured.Unstructured](t, s, "a")

	// The same again, in whole seconds: no change.
	after := before.DeepCopy()
	conds := after.Object["status"].(map[string]any)["conditions"].([]any)
	conds[0].(map[string]any)["lastTransitionTime"] = "2025-06-01T11:59:00Z"
	after.Object["status"].(map[string]any)["startedAt"] = "2025-06-01T11:59:00Z"
	result, err := via(client[unstructured.Unstructured]{s}.Patch, w).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
	assert.Zero(t, s.sent())
	assert.Equal(t, before.Object, after.Object, "after equals the stored object")

	// A change of one condition keeps what it does not know.
	after = before.DeepCopy()
	conds = after.Object["status"].(map[string]any)["conditions"].([]any)
	conds[0].(map[string]any)["status"] = "False"
	conds[0].(map[string]any)["reason"] = "Lost"
	result, err = via(client[unstructured.Unstructured]{s}.Patch, w).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	stored := get[unstructured.Unstructured](t, s, "a").Object["status"].(map[string]any)
	assert.Equal(t, "2025-06-01T11:59:00.123Z", stored["startedAt"])
	assert.Equal(t, map[string]any{"page": int64(9007199254740993)}, before.Object["status"].(map[string]any)["cursor"])
	ready, other := stored["conditions"].([]any)[0].(map[string]any), stored["conditions"].([]any)[1].(map[string]any)
	assert.Equal(t, "Info", ready["severity"])
	assert.Equal(t, "Lost", ready["reason"])
	assert.NotEqual(t, "2025-06-01T11:59:00.123Z", ready["lastTransitionTime"], "the transition is now")
	assert.Equal(t, before.Object["status"].(map[string]any)["conditions"].([]any)[1], any(other), "the condition of another program did not change")

	// Commit merges a field that another program adds to its own condition.
	before = get[unstructured.Unstructured](t, s, "a")
	after = before.DeepCopy()
	after.Object["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["severity"] = "Warning"
	conds = before.DeepCopy().Object["status"].(map[string]any)["conditions"].([]any)
	conds[1].(map[string]any)["link"] = "https://example.com/new"
	s.restatus("a", `{"conditions":`+encode(t, conds)+`}`)
	w.Owned = []string{"Ready"}
	result, err = via(client[unstructured.Unstructured]{s}.Patch, w).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	conds[0].(map[string]any)["severity"] = "Warning"
	assert.Equal(t, conds, get[unstructured.Unstructured](t, s, "a").Object["status"].(map[string]any)["conditions"])

	// A typed client reads it too, and sees no change.
	typed := get[Run](t, s, "a")
	s.sent()
	result, err = via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), typed, typed.DeepCopy(), running)
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
	assert.Zero(t, s.sent())
}

func TestPatch_ZeroGeneration(t *testing.T) {
	before := &Run{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}
	after := before.DeepCopy()
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.Nil(t, patch, "a kind without generations, idle: nothing to say")

	after.Status.Phase = "Running"
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionTrue, "Running"), noon)
	patch, err = status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.NotContains(t, string(patch), "observedGeneration", "0 is not written")
	assert.Contains(t, string(patch), "startedAt")
}

func TestPatch_ConditionTypeOf316Characters(t *testing.T) {
	before := &Run{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 1}}
	for n, ok := range map[int]bool{316: true, 317: false} {
		after := before.DeepCopy()
		typ := strings.Repeat("a-z09", 50) + "." + "b/" + "A-Z" + strings.Repeat("C", n-256)
		status.SetCondition(&after.Status.Conditions, cond(typ, metav1.ConditionTrue, "Ok"), noon)
		kept := after.DeepCopy()
		patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
		if ok {
			require.NoError(t, err)
			assert.Contains(t, string(patch), typ)
			continue
		}
		require.ErrorContains(t, err, "status.conditions[0].type")
		assert.Nil(t, patch)
		assert.Equal(t, kept, after, "an error changes nothing")
	}
}
