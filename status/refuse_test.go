// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/proompteng/controllerkit/status"
)

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

// byValue is an object, and no pointer.
type byValue struct {
	*Run
	Status RunStatus `json:"status"`
}

type marshalled struct{ status.Stamp }

func (marshalled) MarshalJSON() ([]byte, error) { return []byte(`"text"`), nil }

func loose(status any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "resourceVersion": "1", "generation": int64(1)}, "status": status,
	}}
}

// idle returns a status for which the contract has nothing to write.
func idle(a any) *unstructured.Unstructured {
	return loose(map[string]any{"observedGeneration": int64(1), "startedAt": "2025-06-01T12:00:00Z", "a": a})
}

func withCondition(c metav1.Condition) *Run {
	r := bigRun()
	r.Status.Conditions = append(r.Status.Conditions, c)
	return r
}

func TestPatch_Refuses(t *testing.T) {
	one := bigRun()
	shared := &ptrStatus{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Status: &RunStatus{}}
	sharedMap := loose(map[string]any{})
	other, elsewhere, renamed := bigRun(), bigRun(), bigRun()
	other.UID, elsewhere.Namespace, renamed.Name = "other", "other", "other"
	unread, changed := bigRun(), bigRun()
	unread.ResourceVersion = ""
	changed.Status.Phase = "Stopping"
	type contract struct {
		ObservedGeneration int64        `json:"observedGeneration"`
		UpdatedAt          *metav1.Time `json:"updatedAt"`
	}
	type texts struct {
		contract
		Conditions []string `json:"conditions"`
	}
	type objects struct{ before, after status.Object }
	cases := map[string]struct {
		objects
		names status.FieldNames
		says  string
	}{
		"NilBefore":             {objects{nil, bigRun()}, status.FieldNames{}, "before is nil"},
		"NilAfter":              {objects{bigRun(), nil}, status.FieldNames{}, "after is nil"},
		"NilPointer":            {objects{(*Run)(nil), bigRun()}, status.FieldNames{}, "before is nil"},
		"NilUnstructured":       {objects{loose(nil), (*unstructured.Unstructured)(nil)}, status.FieldNames{}, "after is nil"},
		"OneObject":             {objects{one, one}, status.FieldNames{}, "share one status"},
		"TwoTypes":              {objects{bigRun(), loose(nil)}, status.FieldNames{}, "want one type"},
		"TwoObjects":            {objects{bigRun(), other}, status.FieldNames{}, "uid"},
		"TwoNamespaces":         {objects{bigRun(), elsewhere}, status.FieldNames{}, "metadata.namespace"},
		"TwoNames":              {objects{bigRun(), renamed}, status.FieldNames{}, "name"},
		"SharedPointer":         {objects{shared, ptr.To(*shared)}, status.FieldNames{}, "share one status"},
		"SharedMap":             {objects{sharedMap, &unstructured.Unstructured{Object: map[string]any{"metadata": sharedMap.Object["metadata"], "status": sharedMap.Object["status"]}}}, status.FieldNames{}, "share one status"},
		"NeverRead":             {objects{unread, changed}, status.FieldNames{}, "metadata.resourceVersion"},
		"NilUnstructureds":      {objects{&unstructured.Unstructured{}, &unstructured.Unstructured{}}, status.FieldNames{}, "metadata.resourceVersion"},
		"NilStatus":             {objects{&ptrStatus{}, &ptrStatus{}}, status.FieldNames{}, "the status of *status_test.ptrStatus is nil"},
		"NoPointer":             {objects{byValue{Run: bigRun()}, byValue{Run: bigRun()}}, status.FieldNames{}, "want a pointer to a struct that has a field"},
		"StatusIsText":          {objects{&textStatus{}, &textStatus{}}, status.FieldNames{}, "status: the status: want an object"},
		"StatusMarshals":        {objects{kindOf(marshalled{}), kindOf(marshalled{})}, status.FieldNames{}, "status: the status: want an object"},
		"NoStatus":              {objects{&metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}}, status.FieldNames{}, "has no status; want a pointer to a struct"},
		"LooseText":             {objects{loose("x"), loose("x")}, status.FieldNames{}, "want an object"},
		"LooseList":             {objects{loose(nil), loose([]any{})}, status.FieldNames{}, "want an object, got []interface {}"},
		"NoStartedAt":           {objects{kindOf(contract{}), kindOf(contract{})}, status.FieldNames{}, "status.startedAt"},
		"UnknownName":           {objects{bigRun(), bigRun()}, status.FieldNames{StartedAt: "startTime"}, "status.startTime"},
		"UnknownBeforeItIsDone": {objects{bigRun(), bigRun()}, status.FieldNames{FinishedAt: "endTime"}, "status.endTime: the status has no such field"},
		"UnknownConditions":     {objects{bigRun(), bigRun()}, status.FieldNames{Conditions: "verdicts"}, "status.verdicts"},
		"NameTwice":             {objects{bigRun(), bigRun()}, status.FieldNames{StartedAt: "updatedAt"}, `updatedAt and startedAt are both "updatedAt"`},
		"NameAndSpace":          {objects{loose(map[string]any{}), loose(map[string]any{"a": "b"})}, status.FieldNames{StartedAt: "startTime "}, `FieldNames: the name "startTime " of startedAt is not accepted; want a field directly under status`},
		"NestedName":            {objects{bigRun(), bigRun()}, status.FieldNames{StartedAt: "workflow.startedAt"}, `the name "workflow.startedAt" of startedAt is not accepted`},
		"ConditionsOfATextList": {objects{kindOf(texts{}), kindOf(texts{Conditions: []string{"Ready"}})}, status.FieldNames{StartedAt: "-"}, "status.conditions[0]: want an object"},
		"TimeIsText": {objects{kindOf(struct {
			contract
			StartedAt string `json:"startedAt"`
		}{}), kindOf(struct {
			contract
			StartedAt string `json:"startedAt"`
		}{})}, status.FieldNames{}, `status.startedAt: want a time such as 2006-01-02T15:04:05Z, got ""`},
		"GenerationIsText": {objects{kindOf(struct {
			ObservedGeneration string       `json:"observedGeneration"`
			UpdatedAt          *metav1.Time `json:"updatedAt"`
		}{}), kindOf(struct {
			ObservedGeneration string       `json:"observedGeneration"`
			UpdatedAt          *metav1.Time `json:"updatedAt"`
		}{})}, status.FieldNames{}, "status.observedGeneration: want a whole number, got string"},
		"LooseTimeIsNoTime":       {objects{loose(map[string]any{"startedAt": "yesterday"}), loose(nil)}, status.FieldNames{}, `status.startedAt: want a time such as 2006-01-02T15:04:05Z, got "yesterday"`},
		"LooseTimeIsANumber":      {objects{loose(map[string]any{"updatedAt": int64(7)}), loose(nil)}, status.FieldNames{}, "status.updatedAt: want a time such as 2006-01-02T15:04:05Z, got "},
		"LooseGenerationIsText":   {objects{loose(map[string]any{"observedGeneration": "7"}), loose(nil)}, status.FieldNames{}, `status.observedGeneration: want a whole number, got string`},
		"LooseGenerationIsCyclic": {objects{loose(map[string]any{"observedGeneration": cycle()}), loose(nil)}, status.FieldNames{}, "cycle"},
		"LooseGenerationIsHalf":   {objects{loose(map[string]any{"observedGeneration": 0.5}), loose(nil)}, status.FieldNames{}, "status.observedGeneration"},
		"LooseGenerationIsNaN":    {objects{loose(map[string]any{"observedGeneration": math.NaN()}), loose(nil)}, status.FieldNames{}, "unsupported value: NaN"},
		"LooseConditionsAMap":     {objects{loose(nil), loose(map[string]any{"conditions": map[string]any{}})}, status.FieldNames{}, "status.conditions: want a list"},
		"LooseConditionIsText":    {objects{loose(nil), loose(map[string]any{"conditions": []any{"Ready"}})}, status.FieldNames{}, "status.conditions[0]: want an object"},
		"LooseConditionReplaced":  {objects{loose(map[string]any{"conditions": []any{"x"}}), loose(map[string]any{"conditions": []any{"y"}})}, status.FieldNames{}, "status.conditions[0]: want an object"},
		"LooseConditionField":     {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "reason": int64(1)}}})}, status.FieldNames{}, "status.conditions[0].reason: want a string, got int64"},
		"LooseConditionNumber":    {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "observedGeneration": "1"}}})}, status.FieldNames{}, "status.conditions[0].observedGeneration: want a whole number, got string"},
		"LooseConditionTime":      {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "lastTransitionTime": "x"}}})}, status.FieldNames{}, "status.conditions[0].lastTransitionTime: want a time such as 2006-01-02T15:04:05Z, got \"x\""},
		"NotJSON":                 {objects{loose(nil), loose(map[string]any{"ch": make(chan int)})}, status.FieldNames{}, "unsupported type: chan int"},
		"NotJSONInACondition":     {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "ch": make(chan int)}}})}, status.FieldNames{}, "unsupported type: chan int"},
		"Cycle":                   {objects{loose(nil), loose(map[string]any{"a": cycle()})}, status.FieldNames{}, "cycle"},
		"CycleOfLists":            {objects{loose(nil), loose(map[string]any{"a": cycleOfLists()})}, status.FieldNames{}, "cycle"},
		"TwoCyclesOfLists":        {objects{loose(map[string]any{"a": cycleOfLists()}), loose(map[string]any{"a": cycleOfLists()})}, status.FieldNames{}, "cycle"},
		"TwoCycles":               {objects{loose(map[string]any{"a": cycle()}), loose(map[string]any{"a": cycle()})}, status.FieldNames{}, "cycle"},
		"ConditionType":           {objects{bigRun(), withCondition(cond("Not a type", "True", "Ok"))}, status.FieldNames{}, "status.conditions[5].type"},
		"ConditionTypeEmpty":      {objects{bigRun(), withCondition(cond("", "True", "Ok"))}, status.FieldNames{}, `status.conditions[5].type: "" is not accepted`},
		"ConditionTypePrefix":     {objects{bigRun(), withCondition(cond("Example.com/Ready", "True", "Ok"))}, status.FieldNames{}, "status.conditions[5].type"},
		"ConditionTypeSlash":      {objects{bigRun(), withCondition(cond("/Ready", "True", "Ok"))}, status.FieldNames{}, "status.conditions[5].type"},
		"ConditionStatus":         {objects{bigRun(), withCondition(cond("Ready", "Yes", "Ok"))}, status.FieldNames{}, `status.conditions[5].status: "Yes"`},
		"ConditionGeneration":     {objects{bigRun(), withCondition(metav1.Condition{Type: "A", Status: "True", ObservedGeneration: -1})}, status.FieldNames{}, "status.conditions[5].observedGeneration"},
		"ConditionTwice":          {objects{bigRun(), withCondition(cond("Condition0", "False", "Ok"))}, status.FieldNames{}, `status.conditions[5].type: "Condition0" is in the list twice; want each type once`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kept := snapshot(tc.after)
			patch, err := tc.names.Patch(tc.before, tc.after, running, noon)
			require.ErrorContains(t, err, tc.says)
			assert.Nil(t, patch)
			_, committed := via(noPatch(t), status.Writer{FieldNames: tc.names}).Commit(t.Context(), tc.before, tc.after, running)
			require.ErrorContains(t, committed, err.Error())
			assert.Equal(t, kept, snapshot(tc.after), "an error changes nothing")
		})
	}
	t.Run("BadFacts", func(t *testing.T) {
		_, err := status.FieldNames{}.Patch(bigRun(), bigRun(), status.Facts{Progress: 9}, noon)
		require.ErrorContains(t, err, "Facts.Progress")
		_, err = status.FieldNames{}.Patch(bigRun(), bigRun(), running, time.Time{})
		require.ErrorContains(t, err, "now")
	})
}

// A fake clientset stores objects without a version. Most tests of a controller
// with such objects change no status.
func TestPatch_NeedsAResourceVersionOnlyToWrite(t *testing.T) {
	unread := bigRun()
	unread.ResourceVersion = ""
	patch, err := status.FieldNames{}.Patch(unread, unread.DeepCopy(), running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch)

	result, err := via(noPatch(t), status.Writer{}).Commit(t.Context(), unread, unread.DeepCopy(), running)
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
}

// noPatch fails the test when it is called.
func noPatch(t *testing.T) patchFunc[*Run] {
	t.Helper()
	return func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*Run, error) {
		t.Error("a request was sent")
		return nil, errors.New("a request was sent")
	}
}

func cycleOfLists() []any {
	list := []any{nil}
	list[0] = list
	return list
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
