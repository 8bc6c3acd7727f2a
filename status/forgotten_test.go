// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// oldSchema prunes a field of the items of a list, as a CRD does that is older
// than the field.
func oldSchema(s *server, list, field string) patchFunc[*unstructured.Unstructured] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
		if _, err := (client[unstructured.Unstructured]{s}).Patch(ctx, name, pt, data, o, sub...); err != nil {
			return nil, err
		}
		s.mu.Lock()
		stored, _ := s.objects[name]["status"].(map[string]any)
		items, _ := stored[list].([]any)
		for _, item := range items {
			delete(item.(map[string]any), field)
		}
		s.mu.Unlock()
		return get[unstructured.Unstructured](s.t, s, name), nil
	}
}

// TestUnkept_AListWithAPrunedFieldIsStillWritten where it is not stored yet,
// and the error says each time what was lost.
func TestUnkept_AListWithAPrunedFieldIsStillWritten(t *testing.T) {
	s := newServer(t)
	second := status.FieldNames{ObservedGeneration: "-", UpdatedAt: "-", StartedAt: "-", FinishedAt: "-"}
	w := via(oldSchema(s, "conditions", "severity"), status.Writer{FieldNames: second})
	reconcile := func(name string, set bool) (status.Result, error) {
		before := get[unstructured.Unstructured](t, s, name)
		after := before.DeepCopy()
		if set {
			require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{map[string]any{
				"type": "Reachable", "status": "False", "reason": "Refused", "message": name, "severity": "Error",
			}}, "status", "conditions"))
		} else {
			unstructured.RemoveNestedField(after.Object, "status", "conditions")
		}
		return w.Commit(t.Context(), before, after, status.Facts{})
	}
	s.create("a")
	result, err := reconcile("a", true)
	require.ErrorContains(t, err, "status.conditions")
	assert.Equal(t, status.Written, result)
	_, err = reconcile("a", false)
	require.NoError(t, err)
	s.create("b")
	for _, name := range []string{"a", "b"} {
		result, err = reconcile(name, true)
		require.ErrorContains(t, err, "status.conditions", name)
		assert.Equal(t, status.Written, result, name)
		assert.Contains(t, encode(t, get[unstructured.Unstructured](t, s, name)), "Reachable")
	}
}

// TestUnkept_WithAKindOnTheCopy: a caller sets the kind for an owner reference,
// and the answers of a typed client have none. A pruned field is sent once.
func TestUnkept_WithAKindOnTheCopy(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.prunes = []string{"text"}
	w := via(func(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*Report, error) {
		reply, err := client[Report]{s}.Patch(ctx, name, pt, data, o, sub...)
		if reply != nil {
			reply.TypeMeta = metav1.TypeMeta{}
		}
		return reply, err
	}, status.Writer{})
	for i := range 5 {
		before := get[Report](t, s, "a")
		before.TypeMeta = metav1.TypeMeta{}
		after := before.DeepCopy()
		after.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Report"}
		after.Status.Text = "began"
		_, err := w.Commit(t.Context(), before, after, running)
		assert.Equal(t, i == 0, err != nil, err)
	}
	assert.Equal(t, 1, s.sent())
}

// TestCommit_DeposedLeaderReplacesNoVerdict: only the reason changed here, and
// meanwhile the next leader stored the opposite.
func TestCommit_DeposedLeaderReplacesNoVerdict(t *testing.T) {
	s, _ := start(t) // Ready False since noon
	before := get[Run](t, s, "a")
	after := before.DeepCopy()
	status.SetCondition(&after.Status.Conditions, cond("Ready", metav1.ConditionFalse, "StillPending"), noon.Add(2*time.Hour))
	s.restatus("a", `{"conditions":[{"type":"Ready","status":"True","reason":"Ok","message":"","observedGeneration":1,"lastTransitionTime":"2025-06-01T13:00:00Z"}]}`)
	w := via(client[Run]{s}.Patch, status.Writer{Owned: []string{"Ready"}})
	result, err := w.Commit(t.Context(), before, after, status.Facts{})
	require.ErrorIs(t, err, status.ErrFieldConflict)
	assert.Empty(t, result)
	assert.Equal(t, metav1.ConditionTrue, get[Run](t, s, "a").Status.Conditions[0].Status)
}

// TestUnkept_ARepairedSchemaIsBelieved after 5 minutes, without a restart: the
// admin follows the error and declares the field, or repairs a conversion
// webhook. Fields and conditions are the same.
func TestUnkept_ARepairedSchemaIsBelieved(t *testing.T) {
	for name, change := range map[string]struct {
		lost string
		set  func(r *Report)
		kept func(r *Report) bool
	}{
		"Field": {
			"active", func(r *Report) { r.Status.Active = 3 },
			func(r *Report) bool { return r.Status.Active == 3 },
		},
		"Conditions": {
			"conditions", func(r *Report) {
				status.SetCondition(&r.Status.Conditions, cond("Ready", metav1.ConditionTrue, "Ok"), noon)
			},
			func(r *Report) bool { return len(r.Status.Conditions) == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.prunes = []string{change.lost}
			w := via(client[Report]{s}.Patch, status.Writer{})
			reconcile := func(after time.Duration) (status.Result, error) {
				before := get[Report](t, s, "a")
				next := before.DeepCopy()
				change.set(next)
				time.Sleep(after)
				return w.Commit(t.Context(), before, next, running)
			}
			later(t, 0, func(t *testing.T) {
				t.Helper()
				_, err := reconcile(0)
				require.ErrorContains(t, err, "status."+change.lost)
				result, err := reconcile(5 * time.Minute)
				require.ErrorContains(t, err, "status."+change.lost, "it is tried again, and reported again")
				assert.Equal(t, status.Written, result)

				s.prunes = nil
				result, err = reconcile(5*time.Minute - time.Second)
				require.NoError(t, err)
				assert.Equal(t, status.Unchanged, result, "the memory saves a write in each reconcile")
				result, err = reconcile(time.Second)
				require.NoError(t, err)
				assert.Equal(t, status.Written, result)
				assert.True(t, change.kept(get[Report](t, s, "a")))
				s.sent()
				result, err = reconcile(time.Minute)
				require.NoError(t, err)
				assert.Equal(t, status.Unchanged, result)
				assert.Zero(t, s.sent())
			})
		})
	}
}

// TestUnkept_OneObjectsLossIsNotAnothers: a conversion webhook failed for one
// object, or the schema was repaired between two. The other object's value is
// sent, and each object that lost something reports it.
func TestUnkept_OneObjectsLossIsNotAnothers(t *testing.T) {
	s := newServer(t)
	w := via(client[Report]{s}.Patch, status.Writer{})
	set := func(name string) error {
		before := get[Report](t, s, name)
		after := before.DeepCopy()
		after.Status.Active = 3
		_, err := w.Commit(t.Context(), before, after, running)
		return err
	}
	for _, name := range []string{"a", "b", "c"} {
		s.create(name)
		require.NoError(t, set(name))
		s.restatus(name, `{"active":0}`)
	}
	s.prunes = []string{"active"}
	for _, name := range []string{"a", "b"} {
		require.ErrorContains(t, set(name), "status.active", name)
		require.NoError(t, set(name), name)
	}
	s.prunes = nil
	s.sent()
	require.NoError(t, set("c"))
	assert.Equal(t, 1, s.sent())
	assert.EqualValues(t, 3, get[Report](t, s, "c").Status.Active)

	s.delete("a")
	s.create("a")
	require.NoError(t, set("a"))
	assert.EqualValues(t, 3, get[Report](t, s, "a").Status.Active, "another object of the name has lost nothing")
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

// TestCommit_ZeroThatIsNotStoredHidesNoOtherValue: a server with Go types and
// omitempty stores 0 as nothing, and 3 as 3.
func TestCommit_ZeroThatIsNotStoredHidesNoOtherValue(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.stored = func(o map[string]any) {
		if m, ok := o["status"].(map[string]any); ok && m["readyReplicas"] == int64(0) {
			delete(m, "readyReplicas")
		}
	}
	w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
	commit := func(n int64) (status.Result, error) {
		before := get[unstructured.Unstructured](t, s, "a")
		after := before.DeepCopy()
		require.NoError(t, unstructured.SetNestedField(after.Object, n, "status", "readyReplicas"))
		return w.Commit(t.Context(), before, after, status.Facts{})
	}
	_, err := commit(0)
	require.ErrorContains(t, err, "did not keep status.readyReplicas")
	result, err := commit(3)
	require.NoError(t, err)
	n, _, _ := unstructured.NestedInt64(get[unstructured.Unstructured](t, s, "a").Object, "status", "readyReplicas")
	assert.EqualValues(t, 3, n, "result %s", result)
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

// TestCommit_ZeroDefaultHidesNoLaterValue: a schema with default: 0 adds what
// was not sent.
func TestCommit_ZeroDefaultHidesNoLaterValue(t *testing.T) {
	for name, tc := range map[string]struct{ zero, value any }{
		"Int": {int64(0), int64(3)}, "Bool": {false, true}, "List": {[]any{}, []any{"a"}}, "String": {"", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.defaults = map[string]any{"field": tc.zero}
			w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
			commit := func(field string, v any) (status.Result, error) {
				before := get[unstructured.Unstructured](t, s, "a")
				after := before.DeepCopy()
				require.NoError(t, unstructured.SetNestedField(after.Object, v, "status", field))
				return w.Commit(t.Context(), before, after, running)
			}
			_, err := commit("phase", "Running") // the server adds the default
			require.NoError(t, err)
			result, err := commit("field", tc.value)
			require.NoError(t, err)
			assert.Equal(t, status.Written, result)
			got, _, _ := unstructured.NestedFieldNoCopy(get[unstructured.Unstructured](t, s, "a").Object, "status", "field")
			assert.Equal(t, tc.value, got)
		})
	}
}
