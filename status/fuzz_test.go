// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

// FuzzObserve: for any stored and observed times, no time that is set ever
// moves, and the same again changes nothing.
func FuzzObserve(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), int64(1), int8(1), int64(0), int64(0), int64(1748779200))
	f.Add(int64(3), int64(1748779200), int64(0), int64(3), int8(2), int64(0), int64(1), int64(1748779100))
	f.Add(int64(3), int64(0), int64(1748779200), int64(4), int8(1), int64(9), int64(9), int64(1748779300))
	f.Fuzz(func(t *testing.T, stored, start, finish, generation int64, progress int8, startedAt, finishedAt, now int64) {
		moment := func(sec int64) time.Time {
			if sec == 0 {
				return time.Time{}
			}
			return time.Unix(sec%(1<<33), sec%1e9)
		}
		before := status.Stamp{ObservedGeneration: stored}
		if s := moment(start); !s.IsZero() {
			before.StartedAt = ptr.To(metav1.NewTime(s))
		}
		if s := moment(finish); !s.IsZero() {
			before.FinishedAt = ptr.To(metav1.NewTime(s))
		}
		after := *before.DeepCopy()
		facts := status.Facts{Progress: status.Progress(progress), StartedAt: moment(startedAt), FinishedAt: moment(finishedAt)}
		changed, err := after.Observe(facts, generation, moment(now))
		if err != nil || !changed {
			require.Equal(t, before, after)
			return
		}
		for _, times := range [...][2]*metav1.Time{{before.StartedAt, after.StartedAt}, {before.FinishedAt, after.FinishedAt}} {
			if times[0] != nil {
				require.Equal(t, times[0], times[1])
			}
		}
		require.GreaterOrEqual(t, after.ObservedGeneration, before.ObservedGeneration)
		changed, err = after.Observe(facts, generation, moment(now))
		require.NoError(t, err)
		require.False(t, changed)
	})
}

// FuzzSetCondition: for any text, the API server accepts the stored condition,
// and setting the same condition again changes nothing.
func FuzzSetCondition(f *testing.F) {
	f.Add("AsExpected", "all is well")
	f.Add("exit status 1: Ünïcode,", "a\xff\xf0b")
	f.Add("_", strings.Repeat("é", 16385))
	f.Fuzz(func(t *testing.T, reason, message string) {
		before := bigRun()
		after := before.DeepCopy()
		c := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, Message: message}
		require.True(t, status.SetCondition(&after.Status.Conditions, c, noon))
		require.False(t, status.SetCondition(&after.Status.Conditions, c, noon.Add(time.Hour)))
		stored := after.Status.Conditions[5]
		require.Regexp(t, `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`, stored.Reason)
		require.LessOrEqual(t, len(stored.Reason), 1024)
		require.LessOrEqual(t, len(stored.Message), 32768)
		patch, err := status.FieldNames{}.Patch(before, after, running, noon)
		require.NoError(t, err)
		require.True(t, json.Valid(patch))
	})
}

// FuzzUnstructuredStatus: a status of any shape never panics. Either an error
// names it, or the patch makes the one into the other, and there is nothing to
// write a second time.
func FuzzUnstructuredStatus(f *testing.F) {
	f.Add(`{"phase":"Pending","conditions":[{"type":"Ready","status":"True"}]}`, `{"phase":null,"conditions":[{"type":"Ready","status":"False","x":[{}]}]}`, int8(1))
	f.Add(`null`, `{"observedGeneration":1.0,"startedAt":"2025-06-01T12:00:00.123+02:00"}`, int8(2))
	f.Add(`{"startedAt":5}`, `"text"`, int8(0))
	f.Add(`{"conditions":[null,1,{"type":5}]}`, `{"conditions":{}}`, int8(1))
	f.Add(`{"a":{"b":{"c":1}}}`, `{"a":{"b":{}},"-":1}`, int8(1))
	f.Fuzz(func(t *testing.T, was, is string, progress int8) {
		object := func(text string) *unstructured.Unstructured {
			var v any
			if utiljson.Unmarshal([]byte(text), &v) != nil {
				t.Skip()
			}
			return loose(v)
		}
		before, kept, after := object(was), object(was), object(is)
		facts := status.Facts{Progress: status.Progress(progress)}
		patch, err := status.FieldNames{}.Patch(before, after, facts, noon)
		require.Equal(t, kept, before)
		if err != nil {
			require.ErrorContains(t, err, "status")
			require.Equal(t, object(is), after)
			return
		}
		if patch != nil {
			var p map[string]any
			require.NoError(t, utiljson.Unmarshal(patch, &p), string(patch))
			want, err := json.Marshal(after.Object["status"]) // as it goes over the wire, where 1.0 is 1
			require.NoError(t, err)
			var stored any
			require.NoError(t, utiljson.Unmarshal(want, &stored))
			assert.Equal(t, withoutNulls(stored), withoutNulls(mergePatch(before.Object["status"], p["status"])), string(patch))
		}
		again, err := status.FieldNames{}.Patch(after, after.DeepCopy(), facts, noon.Add(time.Hour))
		require.NoError(t, err)
		require.Nil(t, again)
	})
}

// withoutNulls is v as an API server keeps it: null and absent, empty and
// absent conditions, are the same.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, x := range v {
			if out[k] = withoutNulls(x); x == nil {
				delete(out, k)
			}
		}
		if list, ok := out["conditions"].([]any); ok && len(list) == 0 {
			delete(out, "conditions")
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutNulls(x)
		}
		return out
	}
	return v
}
