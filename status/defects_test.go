// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// Report has fields whose values have many JSON forms.
type Report struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Status            ReportStatus `json:"status,omitzero"`
}

type ReportStatus struct {
	*status.Stamp `json:",inline"`

	Active     int32                 `json:"active"`
	Nodes      []string              `json:"nodes"`
	Totals     Totals                `json:"totals"`
	Mode       string                `json:"mode,omitempty"`
	Text       string                `json:"text,omitempty"`
	Extra      *runtime.RawExtension `json:"extra,omitempty"`
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
}

type Totals struct {
	Failed int64 `json:"failed"`
}

func (r *Report) DeepCopyObject() runtime.Object { return r.DeepCopy() }

func (r *Report) DeepCopy() *Report {
	out := new(Report)
	raw, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func TestCommit_LaterUpdateConflictsWhenTheSpecMoved(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	s.respec("a", "edited by a user")
	result, err := commit(t, s, before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "an Update of the old spec must conflict")
	assert.Empty(t, after.Spec.Image)
	assert.Equal(t, get[Run](t, s, "a").Status, after.Status, "the status is the stored one")

	again := after.DeepCopy()
	again.Status.Message = "a second commit of the same reconcile"
	_, err = commit(t, s, after, again, running)
	require.ErrorIs(t, err, status.ErrStaleRead, "the reconcile of the new spec decides")
}

func TestCommit_AfterIsWhollyTheStoredObject(t *testing.T) {
	s, before := start(t)
	after := before.DeepCopy()
	after.Status.Phase, after.Labels = "Running", map[string]string{"local": "change"}
	s.relabel("a", "owner", "user")
	_, err := commit(t, s, before, after, running)
	require.ErrorContains(t, err, "metadata.labels of a differ")
	stored := get[Run](t, s, "a")
	assert.Equal(t, stored.ObjectMeta, after.ObjectMeta, "a later Update keeps the user's label")
	assert.Equal(t, stored.Status, after.Status)
}

func TestCommit_UnstructuredSharesNoMemoryWithBefore(t *testing.T) {
	s, _ := start(t)
	before := get[unstructured.Unstructured](t, s, "a")
	kept, after := before.DeepCopy(), before.DeepCopy()
	after.Object["status"].(map[string]any)["conditions"] = append(conditionList(after), map[string]any{"type": "New", "status": "True"})
	_, err := commit(t, s, before, after, running)
	require.NoError(t, err)
	conditionList(after)[0].(map[string]any)["reason"] = "Edited"
	assert.Equal(t, kept.Object, before.Object)
}

func conditionList(u *unstructured.Unstructured) []any {
	return u.Object["status"].(map[string]any)["conditions"].([]any)
}

func TestCommit_JSONFormsOfOneValueAreOneWrite(t *testing.T) {
	raw := func(text string) func(*Report) {
		return func(r *Report) { r.Status.Extra = &runtime.RawExtension{Raw: []byte(text)} }
	}
	for name, set := range map[string]func(*Report){
		"Escape":    raw(`{"a":"\u00e9"}`),
		"Decimal":   raw(`{"a":1.0}`),
		"Exponent":  raw(`{"a":1e3,"b":-0}`),
		"Slash":     raw(`{"a":"https:\/\/x"}`),
		"BigNumber": raw(`{"a":18446744073709551615,"b":0.1e-7}`),
		"Null":      raw(`{"a":null,"b":[{"c":null}]}`),
		"Twice":     raw(`{"a":1,"a":2}`),
		"Text":      func(r *Report) { r.Status.Text = "a\xff\xfeb" },
		"Message": func(r *Report) {
			r.Status.Conditions = []metav1.Condition{{Type: "A", Status: "True", Message: "\xff\xfe"}}
		},
		"SetCondition": func(r *Report) {
			status.SetCondition(&r.Status.Conditions, metav1.Condition{Type: "A", Status: "True", Message: "\xff\xfe"}, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			for range 5 {
				before := get[Report](t, s, "a")
				after := before.DeepCopy()
				set(after)
				_, err := commit(t, s, before, after, running)
				require.NoError(t, err)
			}
			assert.Equal(t, 1, s.sent())
		})
	}
}

func TestCommit_FirstWriteOfRequiredZeroFields(t *testing.T) {
	t.Run("Typed", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.requires = []string{"active", "nodes", "totals"}
		before := get[Report](t, s, "a")
		after := before.DeepCopy()
		after.Status.Nodes = []string{}
		after.Status.Text = "began"
		_, err := commit(t, s, before, after, running)
		require.NoError(t, err)
		assert.JSONEq(t, `{"failed":0}`, encode(t, s.objects["a"]["status"].(map[string]any)["totals"]))
	})
	t.Run("Unstructured", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.requires = []string{"active"}
		before := get[unstructured.Unstructured](t, s, "a")
		after := before.DeepCopy()
		require.NoError(t, unstructured.SetNestedField(after.Object, int64(0), "status", "active"))
		_, err := commit(t, s, before, after, running)
		require.NoError(t, err)
	})
}

func TestPatch_ConditionsOnlyStatusNeedsNoNames(t *testing.T) {
	type conditionsOnly struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	before, after := kindOf(conditionsOnly{}), kindOf(conditionsOnly{})
	status.SetCondition(&after.Status.Conditions, cond("Ready", "True", "Ok"), noon)
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ok",
		"message":"","observedGeneration":1,"lastTransitionTime":"2025-06-01T12:00:00Z"}]}}`, string(patch))
}

func TestSetCondition_ReportsEachChangeOfTheList(t *testing.T) {
	conds := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ok", ObservedGeneration: 7, LastTransitionTime: *at(0)}}
	kept := conds[0]
	changed := status.SetCondition(&conds, cond("Ready", "True", "Ok"), noon)
	assert.Equal(t, kept != conds[0], changed, "what it reports is whether the list changed")
}

type uncomparable struct {
	*Run
	list []string
}

func TestPatch_RefusesValuesThatCannotBeCompared(t *testing.T) {
	o := uncomparable{bigRun(), []string{"a"}}
	_, err := status.FieldNames{}.Patch(o, o, running, noon)
	require.ErrorContains(t, err, "uncomparable")
}

func TestPatch_AllocatesANilStampEmbeddedByPointer(t *testing.T) {
	before := &Report{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 2}}
	after := before.DeepCopy()
	patch, err := status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"observedGeneration":2`)
	require.NotNil(t, after.Status.Stamp)
	assert.True(t, at(0).Equal(after.Status.StartedAt))
	assert.Nil(t, before.Status.Stamp)
}

// A status that was restored from a backup has a generation that the new object
// does not have yet. Commit refuses it, and the comment of ErrSuperseded says
// how to start over.
func TestCommit_RestoredStatus(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.restatus("a", `{"observedGeneration":7,"startedAt":"2025-06-01T11:00:00Z","phase":"Running","conditions":[
		{"type":"Ready","status":"True","reason":"Ok","message":"","observedGeneration":7,"lastTransitionTime":"2025-06-01T12:00:00Z"},
		{"type":"Other","status":"True","reason":"Ok","message":"","observedGeneration":7,"lastTransitionTime":"2025-06-01T12:00:00Z"}]}`)
	reconcile := func(run *Run) (*Run, status.Result, error) {
		before := run.DeepCopy()
		status.SetCondition(&run.Status.Conditions, cond("Ready", "True", "Ok"), noon)
		result, err := commit(t, s, before, run, running)
		return run, result, err
	}
	startOver := func(run *Run) *Run {
		if run.Status.ObservedGeneration > run.Generation {
			run.Status.ObservedGeneration = 0
		}
		return run
	}
	_, _, err := reconcile(get[Run](t, s, "a"))
	require.ErrorIs(t, err, status.ErrSuperseded)
	require.ErrorContains(t, err, "see ErrSuperseded", "the error names the way out")

	after, result, err := reconcile(startOver(get[Run](t, s, "a")))
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.EqualValues(t, 1, after.Status.ObservedGeneration)
	assert.EqualValues(t, 1, after.Status.Conditions[0].ObservedGeneration, "what the reconcile set starts over")
	assert.EqualValues(t, 7, after.Status.Conditions[1].ObservedGeneration, "the rest is left alone")
	assert.Equal(t, *at(0), metav1.NewTime(after.Status.Conditions[0].LastTransitionTime.UTC()))
	assert.True(t, at(-time.Hour).Equal(after.Status.StartedAt), "startedAt never moves")

	_, result, err = reconcile(startOver(get[Run](t, s, "a")))
	require.NoError(t, err, "from then on the contract holds again")
	assert.Equal(t, status.Unchanged, result)

	// A newer status of another reconcile is not a restored one.
	s.respec("a", "x")
	late := get[Run](t, s, "a")
	s.respec("a", "y")
	s.restatus("a", `{"observedGeneration":3}`)
	early := late.DeepCopy()
	early.Status.Phase = "Late"
	_, err = commit(t, s, late, early, running)
	require.ErrorIs(t, err, status.ErrSuperseded)
}

// If two controllers write one object, the controller that reconciles the spec
// owns observedGeneration. The other controller declares that it has none.
func TestCommit_SecondControllerDoesNotClaimTheGeneration(t *testing.T) {
	s, _ := start(t)
	s.respec("a", "new")
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	status.SetCondition(&after.Status.Conditions, cond("Scheduled", "True", "Bound"), noon)
	second := status.Writer{FieldNames: status.FieldNames{ObservedGeneration: "-"}, Owned: []string{"Scheduled"}}
	_, err := via(client[Run]{s}.Patch, second).Commit(t.Context(), before, after, status.Facts{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, after.Status.ObservedGeneration, "the spec is not reconciled yet")
	assert.EqualValues(t, 2, after.Status.Conditions[1].ObservedGeneration, "but the condition says what it was computed from")

	stale := get[Run](t, s, "a")
	s.restatus("a", `{"observedGeneration":2}`)
	next := stale.DeepCopy()
	status.SetCondition(&next.Status.Conditions, cond("Scheduled", "False", "Evicted"), noon)
	_, err = via(client[Run]{s}.Patch, second).Commit(t.Context(), stale, next, status.Facts{})
	require.ErrorIs(t, err, status.ErrFieldConflict, "the status has changed otherwise")
	stale = get[Run](t, s, "a")
	next = stale.DeepCopy()
	status.SetCondition(&next.Status.Conditions, cond("Scheduled", "False", "Evicted"), noon)
	_, err = via(client[Run]{s}.Patch, second).Commit(t.Context(), stale, next, status.Facts{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, get[Run](t, s, "a").Status.ObservedGeneration)
}

// TestCommit_TwoControllersOfOneObjectBecomeIdle: each writes once for a new
// spec, and neither undoes the other's status.
func TestCommit_TwoControllersOfOneObjectBecomeIdle(t *testing.T) {
	s, _ := start(t)
	reconcile := func(w status.Writer, typ string, f status.Facts) {
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		status.SetCondition(&after.Status.Conditions, cond(typ, "True", "Ok"), time.Now())
		_, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, after, f)
		require.NoError(t, err)
	}
	first := status.Writer{Owned: []string{"Ready"}}
	second := status.Writer{Owned: []string{"Scheduled"}, FieldNames: status.FieldNames{ObservedGeneration: "-", UpdatedAt: "-"}}
	for spec := range 3 {
		s.respec("a", fmt.Sprint(spec))
		s.sent()
		for range 5 {
			reconcile(second, "Scheduled", status.Facts{})
			reconcile(first, "Ready", running)
		}
		assert.Equal(t, 2, s.sent(), "one write of each controller")
		run := get[Run](t, s, "a")
		assert.Equal(t, run.Generation, run.Status.ObservedGeneration)
		assert.Equal(t, run.Generation, run.Status.Conditions[0].ObservedGeneration)
		assert.Equal(t, run.Generation, run.Status.Conditions[1].ObservedGeneration)
	}
}

func TestCommit_RedactsConditionMessages(t *testing.T) {
	s := newServer(t)
	s.create("a")
	w := status.Writer{Redact: func(m string) string { return strings.ReplaceAll(m, "hunter2", "[redacted]") }}
	for i, want := range []status.Result{status.Written, status.Unchanged} {
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		after.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Failed", Message: "password hunter2 refused"}}
		result, err := via(client[Run]{s}.Patch, w).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, want, result, "commit %d", i)
		assert.Equal(t, "password [redacted] refused", after.Status.Conditions[0].Message)
	}
	assert.NotContains(t, strings.Join(s.requests, ""), "hunter2")
}
