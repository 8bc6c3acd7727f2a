// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/proompteng/controllerkit/status"
)

// FuzzObserve: whatever is stored and observed, no time that is set ever moves, and the same again changes nothing.
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
			before.StartedAt = new(metav1.NewTime(s))
		}
		if s := moment(finish); !s.IsZero() {
			before.FinishedAt = new(metav1.NewTime(s))
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

// conditionsOf reads a list from text: a letter for the type, t, f or u for the status, and a digit for the generation, 0 for none.
func conditionsOf(text string) []metav1.Condition {
	var conds []metav1.Condition
	for word := range strings.FieldsSeq(text) {
		if len(word) < 3 || slices.ContainsFunc(conds, func(c metav1.Condition) bool { return c.Type == word[:1] }) {
			continue
		}
		conds = append(conds, metav1.Condition{
			Type: word[:1], Status: metav1.ConditionStatus(word[1:2]), ObservedGeneration: int64(word[2] - '0'), Message: word[3:],
			LastTransitionTime: *at(time.Duration(len(word)) * time.Second),
		})
	}
	return conds
}

// FuzzMergeConditions: merging is idempotent, loses no type, and where it succeeds without an owner is the same from both sides.
func FuzzMergeConditions(f *testing.F) {
	f.Add("At1 Bf1", "Af1 Bf1", "At1 Bf1 Ct1", "A")
	f.Add("At1", "", "Af2", "")
	f.Add("", "At1 Bt2", "Bt2x Af1", "AB")
	f.Add("At1", "Af0", "Af1 Bt0", "")
	f.Add("At1", "Af0", "Af1x", "A")
	f.Fuzz(func(t *testing.T, b, o, s, owned string) {
		base, ours, theirs := conditionsOf(b), conditionsOf(o), conditionsOf(s)
		own := strings.Split(owned, "")
		merged, err := status.MergeConditions(base, ours, theirs, own...)
		if err != nil {
			require.ErrorIs(t, err, status.ErrOverlap)
			require.Nil(t, merged)
			return
		}
		again, err := status.MergeConditions(theirs, merged, theirs, own...)
		require.NoError(t, err)
		require.Equal(t, merged, again, "idempotent")
		alone, err := status.MergeConditions(base, base, theirs, own...)
		require.NoError(t, err)
		require.Equal(t, theirs, alone, "who changed nothing takes theirs")

		in, of := typesOf(merged), func(list []metav1.Condition, typ string) bool { return slices.Contains(typesOf(list), typ) }
		for _, typ := range typesOf(slices.Concat(base, ours, theirs)) {
			removed := of(base, typ) && (!of(ours, typ) || !of(theirs, typ))
			require.True(t, removed || slices.Contains(in, typ), "type %s is lost", typ)
		}
		unstated := func(c metav1.Condition) bool { return c.ObservedGeneration == 0 } // only ours may be the same, said again
		if owned == "" && !slices.ContainsFunc(slices.Concat(ours, theirs), unstated) {
			mirrored, err := status.MergeConditions(base, theirs, ours)
			require.NoError(t, err)
			require.ElementsMatch(t, in, typesOf(mirrored))
		}
	})
}

// FuzzSetCondition: whatever text comes in, what is stored is accepted by the API server, and the same again is no change.
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
		patch, err := status.Patch(before, after, running, noon)
		require.NoError(t, err)
		require.True(t, json.Valid(patch))
	})
}

// FuzzUnstructuredStatus: a status of any shape never panics. Either an error names it, or the patch makes the one into the
// other, and there is nothing to write a second time.
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
		patch, err := status.Patch(before, after, facts, noon)
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
		again, err := status.Patch(after, after.DeepCopy(), facts, noon.Add(time.Hour))
		require.NoError(t, err)
		require.Nil(t, again)
	})
}

// withoutNulls is v as an API server keeps it: null and absent, empty and absent conditions, are the same.
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
