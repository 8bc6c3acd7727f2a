// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

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

// An empty list that the CRD does not declare is neither a change nor a loss.
func TestCommit_WritesNoEmptyListThatNobodyHas(t *testing.T) {
	s := newServer(t)
	s.create("a")
	for range 2 {
		before, after := get[kind[optionalList]](t, s, "a"), get[kind[optionalList]](t, s, "a")
		after.Status.Conditions = []metav1.Condition{}
		_, err := via(client[kind[optionalList]]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
	}
	assert.NotContains(t, s.objects["a"]["status"], "conditions")
	assert.Equal(t, 1, s.sent())

	s.create("b")
	s.prunes = []string{"conditions"}
	w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
	s.sent()
	for range 2 {
		before := get[unstructured.Unstructured](t, s, "b")
		after := before.DeepCopy()
		require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{}, "status", "conditions"))
		_, err := w.Commit(t.Context(), before, after, running)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, s.sent())
}
