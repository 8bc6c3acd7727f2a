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
type byValue struct{ *Run }

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
	other, elsewhere, renamed := bigRun(), bigRun(), bigRun()
	other.UID, elsewhere.Namespace, renamed.Name = "other", "other", "other"
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
		"TwoNamespaces":     {objects{bigRun(), elsewhere}, status.Names{}, "metadata.namespace"},
		"TwoNames":          {objects{bigRun(), renamed}, status.Names{}, "name"},
		"SharedPointer":     {objects{shared, new(*shared)}, status.Names{}, "share one status"},
		"SharedMap":         {objects{sharedMap, &unstructured.Unstructured{Object: map[string]any{"metadata": sharedMap.Object["metadata"], "status": sharedMap.Object["status"]}}}, status.Names{}, "share one status"},
		"NeverRead":         {objects{unread, unread.DeepCopy()}, status.Names{}, "metadata.resourceVersion"},
		"NilUnstructureds":  {objects{&unstructured.Unstructured{}, &unstructured.Unstructured{}}, status.Names{}, "metadata.resourceVersion"},
		"NilStatus":         {objects{&ptrStatus{}, &ptrStatus{}}, status.Names{}, "the status of *status_test.ptrStatus is nil"},
		"NoPointer":         {objects{byValue{bigRun()}, byValue{bigRun()}}, status.Names{}, "neither a pointer to a struct nor unstructured"},
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
		"NameAndSpace":      {objects{loose(map[string]any{}), loose(map[string]any{"a": "b"})}, status.Names{StartedAt: "startTime "}, `"startTime " is not a field directly under status`},
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
		"LooseTimeIsNoTime":       {objects{loose(map[string]any{"startedAt": "yesterday"}), loose(nil)}, status.Names{}, `status.startedAt: want a time such as 2006-01-02T15:04:05Z, got "yesterday"`},
		"LooseTimeIsANumber":      {objects{loose(map[string]any{"updatedAt": int64(7)}), loose(nil)}, status.Names{}, "status.updatedAt: want a time"},
		"LooseGenerationIsText":   {objects{loose(map[string]any{"observedGeneration": "7"}), loose(nil)}, status.Names{}, `status.observedGeneration: want a whole number, got "7"`},
		"LooseGenerationIsCyclic": {objects{loose(map[string]any{"observedGeneration": cycle()}), loose(nil)}, status.Names{}, "status.observedGeneration: want a whole number, got map"},
		"LooseGenerationPointer":  {objects{loose(map[string]any{"observedGeneration": (*int64)(nil)}), loose(nil)}, status.Names{}, "status.observedGeneration: want a whole number, got *int64"},
		"LooseTimePointer":        {objects{loose(map[string]any{"startedAt": (**metav1.Time)(nil)}), loose(nil)}, status.Names{}, "status.startedAt"},
		"LooseGenerationIsHalf":   {objects{loose(map[string]any{"observedGeneration": 0.5}), loose(nil)}, status.Names{}, "status.observedGeneration"},
		"LooseGenerationIsNaN":    {objects{loose(map[string]any{"observedGeneration": math.NaN()}), loose(nil)}, status.Names{}, "status.observedGeneration"},
		"LooseConditionsAMap":     {objects{loose(nil), loose(map[string]any{"conditions": map[string]any{}})}, status.Names{}, "status.conditions: want a list"},
		"LooseConditionIsText":    {objects{loose(nil), loose(map[string]any{"conditions": []any{"Ready"}})}, status.Names{}, "status.conditions[0]: want an object"},
		"LooseConditionReplaced":  {objects{loose(map[string]any{"conditions": []any{"x"}}), loose(map[string]any{"conditions": []any{"y"}})}, status.Names{}, "status.conditions[0]: want an object, got string"},
		"LooseConditionField":     {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "reason": int64(1)}}})}, status.Names{}, "status.conditions[0].reason: want text"},
		"LooseConditionTime":      {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "lastTransitionTime": "x"}}})}, status.Names{}, "status.conditions[0].lastTransitionTime"},
		"NotJSON":                 {objects{loose(nil), loose(map[string]any{"ch": make(chan int)})}, status.Names{}, "status.ch"},
		"NotJSONInACondition":     {objects{loose(nil), loose(map[string]any{"conditions": []any{map[string]any{"type": "A", "status": "True", "ch": make(chan int)}}})}, status.Names{}, "status.conditions"},
		"Cycle":                   {objects{loose(nil), loose(map[string]any{"a": cycle()})}, status.Names{}, "status.a"},
		"CycleOfLists":            {objects{loose(nil), loose(map[string]any{"a": cycleOfLists()})}, status.Names{}, "status.a"},
		"TwoCyclesOfLists":        {objects{loose(map[string]any{"a": cycleOfLists()}), loose(map[string]any{"a": cycleOfLists()})}, status.Names{}, "status.a"},
		"TwoCycles":               {objects{loose(map[string]any{"a": cycle()}), loose(map[string]any{"a": cycle()})}, status.Names{}, "status.a"},
		"ConditionType":           {objects{bigRun(), withCondition(cond("Not a type", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionTypeEmpty":      {objects{bigRun(), withCondition(cond("", "True", "Ok"))}, status.Names{}, "status.conditions[5].type: is empty"},
		"ConditionTypePrefix":     {objects{bigRun(), withCondition(cond("Example.com/Ready", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionTypeSlash":      {objects{bigRun(), withCondition(cond("/Ready", "True", "Ok"))}, status.Names{}, "status.conditions[5].type"},
		"ConditionStatus":         {objects{bigRun(), withCondition(cond("Ready", "Yes", "Ok"))}, status.Names{}, `status.conditions[5].status: "Yes"`},
		"ConditionGeneration":     {objects{bigRun(), withCondition(metav1.Condition{Type: "A", Status: "True", ObservedGeneration: -1})}, status.Names{}, "status.conditions[5].observedGeneration"},
		"ConditionTwice":          {objects{bigRun(), withCondition(cond("Condition0", "False", "Ok"))}, status.Names{}, `status.conditions[5].type: "Condition0" is there already`},
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
