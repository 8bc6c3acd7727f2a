// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// The hard cases: each is a way in which controllers have lost or falsified a
// status.

var (
	running = status.Facts{Progress: status.Running}
	done    = status.Facts{Progress: status.Done}
)

func cond(typ string, s metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: typ, Status: s, Reason: reason}
}

// start stores an object that has been reconciled once.
func start(t *testing.T) (*server, *Run) {
	t.Helper()
	s := newServer(t)
	s.create("a")
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	after.Status.Phase = "Pending"
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionFalse, "Pending"), noon)
	_, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, status.Facts{})
	require.NoError(t, err)
	s.sent()
	return s, get[Run](t, s, "a")
}

func TestCommit_ConflictStorm(t *testing.T) {
	s, before := start(t)
	storm := func(conflicts int) {
		s.before = func(name string, data []byte) {
			if string(data) != "{}" && conflicts > 0 {
				conflicts--
				s.relabel(name, "beat", strings.Repeat("x", conflicts+1))
			}
		}
	}
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	storm(3)
	result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	assert.Equal(t, status.Written, result)
	assert.Equal(t, 7, s.sent(), "three times a conflict and a read, then the write")
	stored := get[Run](t, s, "a")
	assert.Equal(t, "Running", stored.Status.Phase)
	assert.Equal(t, map[string]string{"beat": "x"}, stored.Labels, "the other writer's last word")

	after = stored.DeepCopy()
	after.Status.Phase = "Stopping"
	storm(100)
	s.sent()
	_, err = via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), stored, after, running)
	assert.True(t, apierrors.IsConflict(err), "a caller can tell that it is a conflict")
	assert.Equal(t, 9, s.sent(), "four conflicts are got over, the fifth is returned")
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

// TestCommit_AKindWithoutGenerations: whether the spec has changed since the
// read, only the version shows.
func TestCommit_AKindWithoutGenerations(t *testing.T) {
	s := newServer(t)
	s.create("a")
	delete(s.objects["a"]["metadata"].(map[string]any), "generation")
	w := via(client[Run]{s}.Patch, status.Writer{})
	before := get[Run](t, s, "a")
	after := withPhase(before, "Running")
	_, err := w.Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	next := withPhase(after, "Stopping")
	_, err = w.Commit(t.Context(), after, next, running)
	require.NoError(t, err, "a second Commit of the same reconcile")

	again := withPhase(next, "Done")
	s.relabel("a", "owner", "user")
	_, err = w.Commit(t.Context(), next, again, running)
	require.NoError(t, err)
	assert.Equal(t, next.ResourceVersion, again.ResourceVersion, "an Update of the old spec must conflict")
}

func TestPatch_ConditionTypeOf316Characters(t *testing.T) {
	before := &Run{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", Generation: 1}}
	for n, ok := range map[int]bool{316: true, 317: false} {
		after := before.DeepCopy()
		typ := strings.Repeat("a-z09", 50) + ".bb/" + "A-Z" + strings.Repeat("C", n-257)
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

// TestCommit_TheSecondPatchHasTheSameAnswers as the first one: none, or that
// the object is gone.
func TestCommit_TheSecondPatchHasTheSameAnswers(t *testing.T) {
	s, before := start(t)
	after := withPhase(before, "refused")
	status.SetCondition(&after.Status.Conditions, cond("Ready", "True", "Broken"), noon)
	requests := 0
	answers := []error{invalid("status.phase"), errors.New("EOF")}
	w := via(patching(func(data []byte, sub ...string) (*Run, error) {
		requests++
		if requests <= len(answers) {
			return nil, answers[requests-1]
		}
		return client[Run]{s}.Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{}, sub...)
	}), status.Writer{})
	_, err := w.Commit(t.Context(), before, after.DeepCopy())
	require.ErrorContains(t, err, "EOF")
	_, err = w.Commit(t.Context(), before, before.DeepCopy())
	require.NoError(t, err)
	assert.Equal(t, 3, requests, "the idle Commit asks whether the second patch was done")

	requests = 0
	answers[1] = apierrors.NewNotFound(invalidResource(), "a")
	s.delete("a")
	result, err := w.Commit(t.Context(), before, after)
	require.NoError(t, err)
	assert.Equal(t, status.Gone, result)
}

// TestUnkept_ConditionsWithoutTimes: a CRD whose conditions have neither
// lastTransitionTime nor observedGeneration. Commit writes what changes, and
// nothing else.
func TestUnkept_ConditionsWithoutTimes(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.stored = func(o map[string]any) {
		list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
		for _, c := range list {
			delete(c.(map[string]any), "lastTransitionTime")
			delete(c.(map[string]any), "observedGeneration")
		}
		_ = unstructured.SetNestedSlice(o, list, "status", "conditions")
	}
	w := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}})
	passed := time.Duration(0)
	commit := func(cond metav1.Condition) (status.Result, error) {
		passed += 40 * time.Second
		before := get[Run](t, s, "a")
		after := before.DeepCopy()
		w.SetConditions(&after.Status.Conditions, noon.Add(passed), cond)
		return w.Commit(t.Context(), before, after, status.Facts{})
	}
	for _, cond := range []metav1.Condition{
		cond("Ready", metav1.ConditionFalse, "Pending"), cond("Ready", metav1.ConditionFalse, "Starting"), cond("Ready", metav1.ConditionTrue, "Ok"),
	} {
		result, err := commit(cond)
		assert.Equal(t, status.Written, result, cond.Reason)
		require.ErrorContains(t, err, "status.conditions", "an error names what each change lost")
		for range 3 {
			result, err = commit(cond)
			require.NoError(t, err)
			assert.Equal(t, status.Unchanged, result, cond.Reason)
		}
	}
	assert.Equal(t, 3, s.sent())
}

// TestUnkept_ConditionsWithoutReasons: the caller gives a condition a new time
// in each reconcile, and the CRD has none.
func TestUnkept_ConditionsWithoutReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.keepOnly("type", "status")
		w := via(client[kind[foreignStatus[workloadCondition]]]{s}.Patch, status.Writer{})
		for i := range 4 {
			time.Sleep(2 * time.Second)
			before := get[kind[foreignStatus[workloadCondition]]](t, s, "a")
			after := get[kind[foreignStatus[workloadCondition]]](t, s, "a")
			after.Status.Conditions = []workloadCondition{{Type: "Available", Status: "True", LastTransitionTime: metav1.Now()}}
			_, err := w.Commit(t.Context(), before, after, running)
			assert.Equal(t, i == 0, err != nil, "commit %d: %v", i, err)
		}
		assert.Equal(t, 1, s.sent())
	})
}

// TestUnkept_IsNotSentAgainLater: updatedAt would move, and the write cause the
// next reconcile.
func TestUnkept_IsNotSentAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.prunes = []string{"message"}
		s.defaults = map[string]any{"reason": "Default"} // that appears is not a part of the loss
		w := via(client[Run]{s}.Patch, status.Writer{})
		for i := range 4 {
			time.Sleep(2 * time.Second)
			before := get[Run](t, s, "a")
			after := before.DeepCopy()
			after.Status.Message = "lost"
			_, err := w.Commit(t.Context(), before, after, running)
			assert.Equal(t, i == 0, err != nil, "commit %d: %v", i, err)
		}
		assert.Equal(t, 1, s.sent())
	})
}

type optionalList struct {
	status.Stamp `json:",inline"`

	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func TestCommit_KeepsAnEmptyListOfConditions(t *testing.T) {
	ready := `{"conditions":[{"type":"Ready","status":"True","reason":"Ok","message":"","lastTransitionTime":"2025-06-01T12:00:00Z"}]}`
	stored := func(s *server) any { return s.objects["a"]["status"].(map[string]any)["conditions"] }
	t.Run("TheStoredStatusHasIt", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.restatus("a", ready)
		s.requires = []string{"conditions"}
		for range 2 {
			before, after := get[kind[optionalList]](t, s, "a"), get[kind[optionalList]](t, s, "a")
			after.Status.Conditions = nil
			_, err := via(client[kind[optionalList]]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
			assert.Equal(t, []any{}, stored(s))
		}
		assert.Equal(t, 1, s.sent())
	})
	t.Run("AnotherWriterEmptiesIt", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.restatus("a", ready)
		s.requires = []string{"conditions"}
		before, after := get[kind[optionalList]](t, s, "a"), get[kind[optionalList]](t, s, "a")
		after.Status.Phase = "Running"
		s.restatus("a", `{"conditions":[]}`)
		w := via(client[kind[optionalList]]{s}.Patch, status.Writer{Owned: []string{"Other"}})
		result, err := w.Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		assert.Equal(t, status.Written, result)
		assert.Equal(t, []any{}, stored(s))
	})
	t.Run("Unstructured", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.requires = []string{"conditions"}
		w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
		for range 2 {
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{}, "status", "conditions"))
			_, err := w.Commit(t.Context(), before, after, running)
			require.NoError(t, err)
			assert.Equal(t, []any{}, conditionList(after))
		}
		assert.Equal(t, 1, s.sent())
	})
}

func TestCommit_AcceptsNullAtEveryDepth(t *testing.T) {
	s := newServer(t)
	w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
	for name, fields := range map[string]any{
		"Status":           nil,
		"Contract":         map[string]any{"observedGeneration": nil, "updatedAt": nil, "startedAt": nil, "finishedAt": nil},
		"Conditions":       map[string]any{"conditions": nil},
		"FieldOfCondition": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": nil, "extra": nil}}},
		"Object":           map[string]any{"a": map[string]any{"b": nil}},
		"List":             map[string]any{"a": []any{nil, map[string]any{"b": nil}, []any{nil}}},
	} {
		s.create("a")
		for range 2 {
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			after.Object["status"] = fields
			_, err := w.Commit(t.Context(), before, after.DeepCopy(), running)
			require.NoError(t, err, name)
		}
	}
}

func TestPatch_NamesBadConditions(t *testing.T) {
	condition := func(typ any) map[string]any { return map[string]any{"type": typ, "status": "True", "reason": "Ok"} }
	for name, tc := range map[string]struct {
		conditions any
		says       string
	}{
		"Object":   {map[string]any{"Ready": true}, `status.conditions: want a list of conditions, or for a list of another kind FieldNames.Conditions "-"`},
		"Text":     {"Ready", "status.conditions: want a list of conditions"},
		"NullItem": {[]any{nil}, "status.conditions[0]: want an object"},
		"NullType": {[]any{condition(nil)}, `status.conditions[0].type: "" is not accepted; want a name such as Ready`},
		"Twice":    {[]any{condition("Ready"), condition("Ready")}, `status.conditions[1].type: "Ready" is in the list twice; want each type once`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := status.FieldNames{}.Patch(loose(nil), loose(map[string]any{"conditions": tc.conditions}), status.Facts{}, noon)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// A version that is not a number has no order. It is sent as it is.
func TestCommit_SendsAVersionThatIsNotANumber(t *testing.T) {
	for _, version := range []string{"v1", "-1", "1.5", "99999999999999999999999"} {
		before := bigRun()
		before.ResourceVersion = version
		var sent string
		w := via(patching(func(data []byte, _ ...string) (*Run, error) {
			sent = string(data)
			return before, nil
		}), status.Writer{})
		_, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
		require.ErrorContains(t, err, "status.phase", "the fake keeps nothing")
		assert.Contains(t, sent, `"resourceVersion":"`+version+`"`)
	}
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

	// Nor after a Commit that found nothing to write in another form.
	before = get[unstructured.Unstructured](t, s, "a")
	kept, after = before.DeepCopy(), before.DeepCopy()
	after.Object["status"].(map[string]any)["extra"] = nil
	_, err = commit(t, s, before, after, running)
	require.NoError(t, err)
	conditionList(after)[0].(map[string]any)["reason"] = "Edited"
	assert.Equal(t, kept.Object, before.Object)
}

// TestCommit_AConditionWithAPrunedFieldIsWrittenOnce: the caller sets a field
// that the conditions of the CRD do not have.
func TestCommit_AConditionWithAPrunedFieldIsWrittenOnce(t *testing.T) {
	for name, condition := range map[string]map[string]any{
		"Generation": {"type": "Ready", "status": "True", "reason": "Ok", "observedGeneration": int64(1)},
		"Time":       {"type": "Ready", "status": "True", "lastTransitionTime": "2025-06-01T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.keepOnly("type", "status", "reason")
			w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
			for i := range 4 {
				before := get[unstructured.Unstructured](t, s, "a")
				after := before.DeepCopy()
				list := []any{(&unstructured.Unstructured{Object: condition}).DeepCopy().Object}
				require.NoError(t, unstructured.SetNestedSlice(after.Object, list, "status", "conditions"))
				_, err := w.Commit(t.Context(), before, after)
				assert.Equal(t, i == 0, err != nil, "commit %d: %v", i, err)
			}
			assert.Equal(t, 1, s.sent())
		})
	}
}

func TestCommit_ReportsAnUndeclaredField(t *testing.T) {
	for _, field := range []string{"observedGeneration", "updatedAt", "startedAt", "finishedAt"} {
		s := newServer(t)
		s.create("a")
		s.prunes = []string{field}
		before := get[Run](t, s, "a")
		result, err := via(client[Run]{s}.Patch, status.Writer{}).Commit(t.Context(), before, before.DeepCopy(), status.Facts{Progress: status.Done, StartedAt: noon})
		require.ErrorContains(t, err, "status."+field, "or each reconcile would write it again")
		assert.Equal(t, status.Written, result)
	}
}

// TestCommit_PrunedFieldsWithoutOmitempty: a typed reply shows their zeros.
func TestCommit_PrunedFieldsWithoutOmitempty(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.prunes = []string{"active", "totals"}
	for i := range 5 {
		before := get[Report](t, s, "a")
		after := before.DeepCopy()
		after.Status.Active = int32(10 + i)
		after.Status.Totals.Failed = int64(20 + i)
		_, _ = commit(t, s, before, after, running) // the first one says that the fields were not kept
	}
	assert.Equal(t, 1, s.sent())
}

// TestCommit_OneFormInAListIsNoChange: a program writes a number as it decodes
// it, and JSON has several forms of it.
func TestCommit_OneFormInAListIsNoChange(t *testing.T) {
	s, _ := start(t)
	s.restatus("a", `{"counts":[1,[2]]}`)
	before := get[unstructured.Unstructured](t, s, "a")
	after := before.DeepCopy()
	after.Object["status"].(map[string]any)["counts"] = []any{json.RawMessage("1.0"), []any{json.RawMessage("2e0")}}
	result, err := commit(t, s, before, after, status.Facts{})
	require.NoError(t, err)
	assert.Equal(t, status.Unchanged, result)
}
