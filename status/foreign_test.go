// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

// The conditions of other projects are not a metav1.Condition. Their CRDs prune
// the fields that they do not declare.

// workloadCondition is like the condition of a Deployment.
type workloadCondition struct {
	Type               string       `json:"type"`
	Status             string       `json:"status"`
	LastUpdateTime     *metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime metav1.Time  `json:"lastTransitionTime,omitzero"`
	Reason             string       `json:"reason,omitempty"`
	Message            string       `json:"message,omitempty"`
}

// bareCondition has a severity, and neither times nor texts.
type bareCondition struct {
	Type     string `json:"type"`
	Status   string `json:"status"`
	Severity string `json:"severity,omitempty"`
}

type foreignStatus[C any] struct {
	status.Stamp `json:",inline"`

	Conditions []C `json:"conditions,omitempty"`
}

// keepOnly makes the server prune the fields of conditions that are not in
// fields.
func (s *server) keepOnly(fields ...string) {
	s.stored = func(o map[string]any) {
		list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
		if list == nil {
			return
		}
		for _, c := range list {
			for field := range c.(map[string]any) {
				if !slices.Contains(fields, field) {
					delete(c.(map[string]any), field)
				}
			}
		}
		_ = unstructured.SetNestedSlice(o, list, "status", "conditions")
	}
}

// reconcileForeign commits conds three times, each time with a Writer that
// remembers nothing. It returns the stored conditions.
func reconcileForeign[C any](t *testing.T, s *server, conds ...C) []any {
	t.Helper()
	if s.objects["a"] == nil {
		s.create("a")
	}
	s.sent()
	later(t, 0, func(t *testing.T) {
		t.Helper()
		for range 3 {
			before := get[kind[foreignStatus[C]]](t, s, "a")
			after := get[kind[foreignStatus[C]]](t, s, "a")
			after.Status.Conditions = slices.Clone(conds)
			_, err := via(client[kind[foreignStatus[C]]]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		}
	})
	assert.Equal(t, 1, s.sent(), "one write")
	list, _, err := unstructured.NestedSlice(s.objects["a"], "status", "conditions")
	require.NoError(t, err)
	return list
}

func TestCommit_WritesOnlyFieldsOfTheConditionsType(t *testing.T) {
	t.Run("Workload", func(t *testing.T) {
		s := newServer(t)
		s.keepOnly("type", "status", "lastUpdateTime", "lastTransitionTime", "reason", "message")
		stored := reconcileForeign(t, s, workloadCondition{Type: "Available", Status: "False"})
		assert.Equal(t, []any{map[string]any{
			"type": "Available", "status": "False", "lastTransitionTime": "2025-06-01T12:00:00Z",
		}}, stored, "no generation, no reason and no message that the caller did not set")

		stored = reconcileForeign(t, s, workloadCondition{Type: "Available", Status: "True", Reason: "Ready", LastUpdateTime: at(0)})
		assert.Equal(t, []any{map[string]any{
			"type": "Available", "status": "True", "reason": "Ready",
			"lastUpdateTime": "2025-06-01T12:00:00Z", "lastTransitionTime": "2025-06-01T12:00:00Z",
		}}, stored)
		stored = reconcileForeign(t, s, workloadCondition{Type: "Available", Status: "True"})
		assert.NotContains(t, stored[0], "reason", "a text that the caller cleared is gone")
	})
	t.Run("Bare", func(t *testing.T) {
		s := newServer(t)
		s.keepOnly("type", "status", "severity")
		stored := reconcileForeign(t, s, bareCondition{Type: "Ready", Status: "False", Severity: "Error"})
		assert.Equal(t, []any{map[string]any{"type": "Ready", "status": "False", "severity": "Error"}}, stored)
		stored = reconcileForeign(t, s, bareCondition{Type: "Ready", Status: "True"})
		assert.Equal(t, []any{map[string]any{"type": "Ready", "status": "True"}}, stored)
	})
	t.Run("PointersAndNamedLists", func(t *testing.T) {
		stored := reconcileForeign(t, newServer(t), &bareCondition{Type: "Ready", Status: "False"})
		assert.Equal(t, []any{map[string]any{"type": "Ready", "status": "False"}}, stored)
		stored = reconcileForeign(t, newServer(t), &metav1.Condition{Type: "Ready", Status: "False"})
		assert.Equal(t, []any{map[string]any{
			"type": "Ready", "status": "False", "reason": "Unknown", "message": "",
			"observedGeneration": int64(1), "lastTransitionTime": "2025-06-01T12:00:00Z",
		}}, stored, "a metav1.Condition is complete")
	})
}

// An unstructured status has no type to look at: a stored condition shows which
// fields the CRD has.
func TestCommit_WritesOnlyFieldsOfTheStoredCondition(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.keepOnly("type", "status", "severity")
	s.restatus("a", `{"observedGeneration":1,"startedAt":"2025-06-01T12:00:00Z","conditions":[{"type":"Ready","status":"False","severity":"Error"}]}`)
	for i, ready := range []string{"True", "True", "False"} {
		before := get[unstructured.Unstructured](t, s, "a")
		after := before.DeepCopy()
		require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{map[string]any{"type": "Ready", "status": ready}}, "status", "conditions"))
		w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
		_, err := w.Commit(t.Context(), before, after, running)
		require.NoError(t, err, "commit %d", i)
		assert.Equal(t, []any{map[string]any{"type": "Ready", "status": ready}}, conditionList(after))
	}
	assert.Equal(t, 2, s.sent())
}

// A merge of two writers keeps the form of the conditions too.
func TestCommit_MergesConditionsOfAnotherType(t *testing.T) {
	type status1 = foreignStatus[workloadCondition]
	s := newServer(t)
	s.keepOnly("type", "status", "lastUpdateTime", "lastTransitionTime", "reason", "message")
	reconcileForeign(t, s, workloadCondition{Type: "Available", Status: "False"})
	before, after := get[kind[status1]](t, s, "a"), get[kind[status1]](t, s, "a")
	after.Status.Conditions[0].Status = "True"
	s.restatus("a", `{"conditions":[{"type":"Available","status":"False","lastTransitionTime":"2025-06-01T12:00:00Z"},{"type":"Progressing","status":"True"}]}`)
	later(t, time.Hour, func(t *testing.T) {
		t.Helper()
		w := via(client[kind[status1]]{s}.Patch, status.Writer{Owned: []string{"Available"}})
		_, err := w.Commit(t.Context(), before, after, running)
		require.NoError(t, err)
	})
	assert.JSONEq(t, `[{"type":"Available","status":"True","lastTransitionTime":"2025-06-01T13:00:00Z"},{"type":"Progressing","status":"True"}]`,
		encode(t, s.objects["a"]["status"].(map[string]any)["conditions"]))
}

func TestCommit_NamesTheWayOutForAListThatHasNoStatus(t *testing.T) {
	type notice struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	before, after := kindOf(foreignStatus[notice]{}), kindOf(foreignStatus[notice]{})
	after.Status.Conditions = []notice{{"Warning", "disk"}, {"Warning", "network"}}
	_, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.ErrorContains(t, err, `status.conditions[0].status: "" is not accepted; want True, False or Unknown, `+
		`or for a list of another kind FieldNames.Conditions "-"`)
	_, err = status.FieldNames{Conditions: "-"}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
}

// Nothing says which fields the conditions of an unstructured status have.
// Commit adds a time and a generation to a new one. It is not the caller's loss
// if the CRD has no such fields.
func TestCommit_AddsFieldsThatTheCRDMayLack(t *testing.T) {
	for name, fields := range map[string][]string{
		"NoGeneration": {"type", "status", "reason", "lastTransitionTime"},
		"NoTime":       {"type", "status", "reason", "observedGeneration"},
		"Neither":      {"type", "status", "reason"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.keepOnly(fields...)
			w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
			reconcile := func(text string) (status.Result, error) {
				before := get[unstructured.Unstructured](t, s, "a")
				after := before.DeepCopy()
				ready := map[string]any{"type": "Ready", "status": "False", "reason": text}
				require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{ready}, "status", "conditions"))
				return w.Commit(t.Context(), before, after, running)
			}
			for _, text := range []string{"A", "B"} {
				result, err := reconcile(text)
				require.NoError(t, err)
				assert.Equal(t, status.Written, result)
				result, err = reconcile(text)
				require.NoError(t, err)
				assert.Equal(t, status.Unchanged, result)
			}
		})
	}
	t.Run("AnotherFieldIsLost", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.prunes = []string{"message"}
		w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
		for i := range 3 {
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			ready := map[string]any{"type": "Ready", "status": "False", "reason": "Lost"}
			require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{ready}, "status", "conditions"))
			require.NoError(t, unstructured.SetNestedField(after.Object, "lost", "status", "message"))
			_, err := w.Commit(t.Context(), before, after, running)
			assert.Equal(t, i == 0, err != nil, "commit %d: %v", i, err)
		}
		assert.Equal(t, 1, s.sent(), "what the CRD kept is not a part of the loss")
	})
	t.Run("TheCallersField", func(t *testing.T) {
		s := newServer(t)
		s.create("a")
		s.keepOnly("type", "status")
		before := get[unstructured.Unstructured](t, s, "a")
		after := before.DeepCopy()
		ready := map[string]any{"type": "Ready", "status": "False", "reason": "Lost"}
		require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{ready}, "status", "conditions"))
		_, err := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.ErrorContains(t, err, "did not keep status.conditions")
	})
}
