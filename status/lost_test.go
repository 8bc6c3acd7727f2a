// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_ADefaultHidesNoLaterChange: the schema adds a field to what the
// controller sets. Another instance stores another value, and this one sets its
// own again.
func TestCommit_ADefaultHidesNoLaterChange(t *testing.T) {
	s := newServer(t)
	s.create("a")
	s.stored = func(o map[string]any) {
		ref, has, _ := unstructured.NestedMap(o, "status", "jobRef")
		if has && ref["uid"] == nil {
			_ = unstructured.SetNestedField(o, "default", "status", "jobRef", "uid")
		}
	}
	w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
	set := func(name string) status.Result {
		before := get[unstructured.Unstructured](t, s, "a")
		after := before.DeepCopy()
		require.NoError(t, unstructured.SetNestedMap(after.Object, map[string]any{"name": name}, "status", "jobRef"))
		result, err := w.Commit(t.Context(), before, after)
		require.NoError(t, err)
		return result
	}
	assert.Equal(t, status.Written, set("a"))
	assert.Equal(t, status.Unchanged, set("a"), "a default is no reason to write")
	s.restatus("a", `{"jobRef":{"name":"other"}}`)
	assert.Equal(t, status.Written, set("a"))
	name, _, _ := unstructured.NestedString(s.objects["a"], "status", "jobRef", "name")
	assert.Equal(t, "a", name)
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

// TestCommit_ARefusedQuestionIsAnAnswer: the stored object breaks its schema,
// so that the API server refuses also a patch without changes.
func TestCommit_ARefusedQuestionIsAnAnswer(t *testing.T) {
	_, before := start(t)
	requests := 0
	answers := []error{errors.New("EOF"), invalid("spec.image")}
	w := via(patching(func([]byte, ...string) (*Run, error) {
		requests++
		return nil, answers[requests-1]
	}), status.Writer{})
	_, err := w.Commit(t.Context(), before, withPhase(before, "Running"))
	require.ErrorContains(t, err, "EOF")
	for range 3 {
		result, err := w.Commit(t.Context(), before, before.DeepCopy())
		require.NoError(t, err)
		assert.Equal(t, status.Unchanged, result)
	}
	assert.Equal(t, 2, requests)
}
