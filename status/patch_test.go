// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

func TestPatchWritesWhatChanged(t *testing.T) {
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
			reason: "A cleared field is null, or the old text would stay for ever.",
			change: func(r *Run) { r.Status.Phase = "" }, facts: running,
			want: `{"phase":null}`,
		},
		"NestedCleared": {
			reason: "A merge patch merges objects: what is gone in one must be null.",
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
			reason: "The same verdicts with new times, in another order, are no change.",
			change: func(r *Run) {
				conds := r.Status.Conditions
				conds[0], conds[4] = conds[4], conds[0]
				for i := range conds {
					conds[i].LastTransitionTime = *at(time.Hour)
				}
			}, facts: running,
		},
		"ConditionsCleared": {
			reason: "No conditions is null.",
			change: func(r *Run) { r.Status.Conditions = []metav1.Condition{} }, facts: running,
			want: `{"conditions":null}`,
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
			patch, err := status.Patch(before, after, tc.facts, noon.Add(time.Hour))
			require.NoError(t, err)
			assert.Equal(t, bigRun(), before, "before is never changed")
			if tc.want == "" {
				assert.Nil(t, patch, tc.reason)
				assert.Equal(t, before.Status.Stamp, after.Status.Stamp)
				return
			}
			var got struct {
				Metadata map[string]any
				Status   map[string]any
			}
			require.NoError(t, json.Unmarshal(patch, &got))
			assert.Equal(t, map[string]any{"resourceVersion": "4711"}, got.Metadata, "pinned to what was read")
			assert.Equal(t, "2025-06-01T13:00:00Z", got.Status["updatedAt"], "each write is stamped")
			delete(got.Status, "updatedAt")
			assert.JSONEq(t, tc.want, encode(t, got.Status), tc.reason)
			assert.Equal(t, *at(time.Hour), *after.Status.UpdatedAt)

			again, err := status.Patch(after, after.DeepCopy(), tc.facts, noon.Add(2*time.Hour))
			require.NoError(t, err)
			assert.Nil(t, again, "after is what is stored then: nothing to write")
		})
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestGenerationAloneIsOneWrite(t *testing.T) {
	before := bigRun()
	before.Generation = 4
	after := before.DeepCopy()
	patch, err := status.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"4711"},"status":{"observedGeneration":4,"updatedAt":"2025-06-01T12:00:00Z"}}`, string(patch))
	patch, err = status.Patch(after, after.DeepCopy(), running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch)
}

func TestRestoredTimesDoNotLeadIntoTheCache(t *testing.T) {
	before := bigRun()
	after := before.DeepCopy()
	after.Status.StartedAt, after.Status.Phase = nil, "Stopping"
	_, err := status.Patch(before, after, running, noon)
	require.NoError(t, err)
	require.Equal(t, before.Status.StartedAt, after.Status.StartedAt)
	assert.NotSame(t, before.Status.StartedAt, after.Status.StartedAt)
}

// Bad input gives an error that names the field, and changes nothing.

type textStatus struct {
	Run
	Status string `json:"status"`
}

type ptrStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            *RunStatus `json:"status,omitempty"`
}

func (p *ptrStatus) DeepCopyObject() runtime.Object { return p }

// kind is a kind with any status.
type kind[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            S `json:"status"`
}

func (k *kind[S]) DeepCopyObject() runtime.Object { return k }

func kindOf[S any](s S) *kind[S] {
	return &kind[S]{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 1}, Status: s}
}

type marshalled struct{ status.Stamp }

func (marshalled) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

func loose(status any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "resourceVersion": "1", "generation": int64(1)}, "status": status,
	}}
}

func withCondition(c metav1.Condition) *Run {
	r := bigRun()
	r.Status.Conditions = append(r.Status.Conditions, c)
	return r
}

func TestPatchRefuses(t *testing.T) {
	one := bigRun()
	shared := &ptrStatus{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Status: &RunStatus{}}
	sharedMap := loose(map[string]any{})
	other := bigRun()
	other.UID = "other"
	unread := bigRun()
	unread.ResourceVersion = ""
	type contract struct {
		ObservedGeneration int64        `json:"observedGeneration"`
		UpdatedAt          *metav1.Time `json:"updatedAt"`
	}
	type objects struct{ before, after status.Object }
	cases := map[string]struct {
		objects
		names status.Names
		says  string
	}{
		"NilBefore":         {objects{nil, bigRun()}, status.Names{}, "before is nil"},
		"NilAfter":          {objects{bigRun(), nil}, status.Names{}, "after is nil"},
		"NilPointer":        {objects{(*Run)(nil), bigRun()}, status.Names{}, "before is nil"},
		"NilUnstructured":   {objects{loose(nil), (*unstructured.Unstructured)(nil)}, status.Names{}, "after is nil"},
		"OneObject":         {objects{one, one}, status.Names{}, "one object"},
		"TwoTypes":          {objects{bigRun(), loose(nil)}, status.Names{}, "want one type"},
		"TwoObjects":        {objects{bigRun(), other}, status.Names{}, "uid"},
		"SharedPointer":     {objects{shared, new(*shared)}, status.Names{}, "share one status"},
		"SharedMap":         {objects{sharedMap, &unstructured.Unstructured{Object: map[string]any{"metadata": sharedMap.Object["metadata"], "status": sharedMap.Object["status"]}}}, status.Names{}, "share one status"},
		"NeverRead":         {objects{unread, unread.DeepCopy()}, status.Names{}, "metadata.resourceVersion"},
		"NilUnstructureds":  {objects{&unstructured.Unstructured{}, &unstructured.Unstructured{}}, status.Names{}, "metadata.resourceVersion"},
		"NilStatus":         {objects{&ptrStatus{}, &ptrStatus{}}, status.Names{}, "the status of *status_test.ptrStatus is nil"},
		"StatusIsText":      {objects{&textStatus{}, &textStatus{}}, status.Names{}, "is a string; want a struct"},
		"StatusIsATree":     {objects{kindOf(map[string]any{}), kindOf(map[string]any{})}, status.Names{}, "want a struct"},
		"StatusMarshals":    {objects{kindOf(marshalled{}), kindOf(marshalled{})}, status.Names{}, "MarshalJSON"},
		"NoStatus":          {objects{&metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}}, status.Names{}, "no field of JSON name status"},
		"LooseText":         {objects{loose("x"), loose("x")}, status.Names{}, "want an object, got string"},
		"LooseList":         {objects{loose(nil), loose([]any{})}, status.Names{}, "want an object, got []interface {}"},
		"NoUpdatedAt":       {objects{kindOf(struct{}{}), kindOf(struct{}{})}, status.Names{ObservedGeneration: "-"}, "status.updatedAt"},
		"NoGeneration":      {objects{kindOf(struct{}{}), kindOf(struct{}{})}, status.Names{}, "status.observedGeneration"},
		"NoStartedAt":       {objects{kindOf(contract{}), kindOf(contract{})}, status.Names{}, "status.startedAt"},
		"UnknownName":       {objects{bigRun(), bigRun()}, status.Names{StartedAt: "startTime"}, "status.startTime"},
		"UnknownConditions": {objects{bigRun(), bigRun()}, status.Names{Conditions: "verdicts"}, "status.verdicts"},
		"NameTwice":         {objects{bigRun(), bigRun()}, status.Names{StartedAt: "updatedAt"}, `"updatedAt" is given to two fields`},
		"NestedName":        {objects{bigRun(), bigRun()}, status.Names{StartedAt: "workflow.startedAt"}, "workflow.startedAt"},
		"ConditionsOfATextList": {objects{kindOf(struct {
			contract
			Conditions []string `json:"conditions"`
		}{}), kindOf(struct {
			contract
			Conditions []string `json:"conditions"`
		}{})}, status.Names{StartedAt: "-"}, "status.conditions: want []metav1.Condition, got []string"},
		"TimeIsText": {objects{kindOf(struct {
			contract
			StartedAt string `json:"startedAt"`
		}{}), kindOf(struct {
			contract
			StartedAt string `json:"startedAt"`
		}{})}, status.Names{}, "status.startedAt: want a metav1.Time or *metav1.Time, got string"},
		"GenerationIsText": {objects{kindOf(struct {
			ObservedGeneration string       `json:"observedGeneration"`
			UpdatedAt          *metav1.Time `json:"updatedAt"`
		}{}), kindOf(struct {
			ObservedGeneration string       `json:"observedGeneration"`
			UpdatedAt          *metav1.Time `json:"updatedAt"`
		}{})}, status.Names{}, "status.observedGeneration: want an int64 or *int64, got string"},
		"LooseTimeIsNoTime":     {objects{loose(map[string]any{"startedAt": "yesterday"}), loose(nil)}, status.Names{}, `status.startedAt: want a time such as 2006-01-02T15:04:05Z, got "yesterday"`},
		"LooseTimeIsANumber":    {objects{loose(map[string]any{"updatedAt": int64(7)}), loose(nil)}, status.Names{}, "status.updatedAt: want a time"},
		"LooseGenerationIsText": {objects{loose(map[string]any{"observedGeneration": "7"}), loose(nil)}, status.Names{}, `status.observedGeneration: want a whole number, got "7"`},
		"LooseGenerationIsHalf": {objects{loose(map[string]any{"observedGeneration": 0.5}), loose(nil)}, status.Names{}, "status.observedGeneration"},
		"LooseGenerationIsNaN":  {objects{loose(map[string]any{"observedGeneration": math.NaN()}), loose(nil)}, status.Names{}, "status.observedGeneration"},
		"LooseConditionsAMap":   {objects{loose(nil), loose(map[string]any{"conditions": map[string]any{}})}, status.Names{}, "status.conditions: want a list"},
		"LooseConditionIsText":  {objects{loose(nil), loose(map[string]any{"conditions": []any{"Ready"}})}, status.Names{}, "status.conditions[0]: want an object"},
		"LooseConditionField":   {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "reason": int64(1)}}})}, status.Names{}, "status.conditions[0].reason: want text"},
		"LooseConditionTime":    {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "lastTransitionTime": "x"}}})}, status.Names{}, "status.conditions[0].lastTransitionTime"},
		"NotJSON":               {objects{loose(nil), loose(map[string]any{"ch": make(chan int)})}, status.Names{}, "status.ch"},
		"NotJSONInACondition":   {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "ch": make(chan int)}}})}, status.Names{}, "status.conditions"},
		"Cycle":                 {objects{loose(nil), loose(map[string]any{"a": cycle()})}, status.Names{}, "status.a"},
		"TwoCycles":             {objects{loose(map[string]any{"a": cycle()}), loose(map[string]any{"a": cycle()})}, status.Names{}, "status.a"},
		"ConditionType":         {objects{bigRun(), withCondition(cond("Not a type", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionTypeEmpty":    {objects{bigRun(), withCondition(cond("", "True", "Ok"))}, status.Names{}, "status.conditions[5].type: is empty"},
		"ConditionTypePrefix":   {objects{bigRun(), withCondition(cond("Example.com/Ready", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionTypeSlash":    {objects{bigRun(), withCondition(cond("/Ready", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionStatus":       {objects{bigRun(), withCondition(cond("Ready", "Yes", "Ok"))}, status.Names{}, `status.conditions[5].status: "Yes"`},
		"ConditionGeneration":   {objects{bigRun(), withCondition(metav1.Condition{Type: "A", Status: "True", ObservedGeneration: -1})}, status.Names{}, "status.conditions[5].observedGeneration"},
		"ConditionTwice":        {objects{bigRun(), withCondition(cond("Condition0", "False", "Ok"))}, status.Names{}, `status.conditions[5].type: "Condition0" is there already`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kept := snapshot(tc.after)
			patch, err := tc.names.Patch(tc.before, tc.after, running, noon)
			require.ErrorContains(t, err, tc.says)
			assert.Nil(t, patch)
			assert.Equal(t, kept, snapshot(tc.after), "an error changes nothing")
		})
	}
	t.Run("BadFacts", func(t *testing.T) {
		_, err := status.Patch(bigRun(), bigRun(), status.Facts{Progress: 9}, noon)
		require.ErrorContains(t, err, "Facts.Progress")
		_, err = status.Patch(bigRun(), bigRun(), running, time.Time{})
		require.ErrorContains(t, err, "now")
	})
}

func cycle() map[string]any {
	m := map[string]any{}
	m["a"] = m
	return m
}

// snapshot is a copy to compare with later, where that can be made.
func snapshot(o status.Object) any {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if u == nil {
			return nil
		}
		m, _ := u.Object["status"].(map[string]any)
		return len(m)
	}
	raw, _ := json.Marshal(o)
	return string(raw)
}

// conditionsAt returns the unstructured conditions of a copy, to be changed.
func conditionsAt(u *unstructured.Unstructured) (*unstructured.Unstructured, []map[string]any) {
	u = u.DeepCopy()
	var list []map[string]any
	for _, c := range u.Object["status"].(map[string]any)["conditions"].([]any) {
		list = append(list, c.(map[string]any))
	}
	return u, list
}

func TestUnstructuredConditions(t *testing.T) {
	before := loose(map[string]any{
		"observedGeneration": int64(1), "updatedAt": "2025-06-01T11:00:00.5Z",
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": "2025-06-01T11:00:00.123Z", "severity": "Info"},
			map[string]any{"type": "Other", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2025-06-01T11:00:00.123Z"},
		},
	})
	patched := func(t *testing.T, after *unstructured.Unstructured) []any {
		t.Helper()
		patch, err := status.Patch(before, after, status.Facts{}, noon)
		require.NoError(t, err)
		if patch == nil {
			return nil
		}
		var p struct{ Status struct{ Conditions []any } }
		require.NoError(t, json.Unmarshal(patch, &p))
		return p.Status.Conditions
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
			"type": "Ready", "status": "True", "reason": "Ok", "message": "new", "observedGeneration": 1.0,
			"lastTransitionTime": "2025-06-01T11:00:00.123Z", "severity": "Info",
		}, patched(t, after)[0], "as another program spelled it")
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
		_, err := status.Patch(before, after, status.Facts{}, noon)
		require.ErrorContains(t, err, "status.conditions[1].status")
		assert.Equal(t, kept, after)
	})
}

func TestWhatAnotherProgramWroteWronglyBlocksNothing(t *testing.T) {
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
	patch, err := status.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"observedGeneration":1,"updatedAt":"2025-06-01T12:00:00Z","conditions":[
		"not a condition", {"type":"Bad Type","status":"maybe"}, {"type":"Twice","status":"True"}, {"type":"Twice","status":"False"},
		{"type":"Ready","status":"True","reason":"Ok","message":"","observedGeneration":1,"lastTransitionTime":"2025-06-01T12:00:00Z"}]}}`, string(patch))
}
