// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/status"
)

// The object after a Commit, and later writes with it, on a real API server.

// TestCommit_LaterUpdateOfAMergedObjectConflicts: a user changes the spec while
// a controller commits, and the controller then updates its copy, such as to
// remove a finalizer.
func TestCommit_LaterUpdateOfAMergedObjectConflicts(t *testing.T) {
	s := newStage(t)
	before := s.reconciled(t, "a")
	after := before.DeepCopy()
	after.Status.Phase = "Running"
	s.respec(t, "a", "edited")
	result, err := via(s.ours.probes.Patch, writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	require.Equal(t, status.Merged, result)

	after.Finalizers = []string{"example.com/cleanup"}
	_, err = s.ours.probes.Update(t.Context(), after, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "the old spec must not overwrite the new one: %v", err)
	assert.Equal(t, "edited", s.read(t, "a").Spec.Image)

	// If the spec did not change, the copy equals the stored object.
	before = s.read(t, "a")
	after = before.DeepCopy()
	after.Status.Phase = "Stopping"
	label := []byte(`{"metadata":{"labels":{"owner":"user"}}}`)
	_, err = s.theirs.probes.Patch(t.Context(), "a", "application/merge-patch+json", label, metav1.PatchOptions{})
	require.NoError(t, err)
	result, err = via(s.ours.probes.Patch, writer{}).Commit(t.Context(), before, after, running)
	require.NoError(t, err)
	require.Equal(t, status.Merged, result)
	after.Finalizers = []string{"example.com/cleanup"}
	_, err = s.ours.probes.Update(t.Context(), after, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "user", s.read(t, "a").Labels["owner"], "an Update keeps the user's label")
	_, err = s.theirs.probes.Patch(t.Context(), "a", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// strict is the typed view of the kind whose schema prunes, defaults and
// requires.
type strict struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            strictStatus `json:"status,omitzero"`
}

type strictStatus struct {
	*status.Stamp `json:",inline"`

	Active int32                 `json:"active"`
	Nodes  []string              `json:"nodes"`
	Totals struct{ Failed int }  `json:"totals"`
	Mode   string                `json:"mode,omitempty"`
	Typo   string                `json:"typo,omitempty"`
	Extra  *runtime.RawExtension `json:"extra,omitempty"`
}

func (s *strict) DeepCopyObject() runtime.Object { return s.DeepCopy() }

func (s *strict) DeepCopy() *strict {
	out := new(strict)
	if m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s); err == nil {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, out)
	}
	return out
}

// strictWriter writes typed objects by the dynamic client.
func strictWriter(c dynamic.ResourceInterface) status.Writer {
	return via(func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*strict, error) {
		u, err := c.Patch(ctx, name, pt, data, opts, subresources...)
		if err != nil {
			return nil, err
		}
		out := new(strict)
		return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
	}, status.Writer{})
}

func (s *stage) readStrict(t *testing.T, name string) *strict {
	t.Helper()
	u, err := s.theirs.dynamic(stricts).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	out := new(strict)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out))
	return out
}

func TestCommit_FirstWriteHasTheRequiredZeroFields(t *testing.T) {
	s := newStage(t)
	t.Run("Typed", func(t *testing.T) {
		s.object(t, stricts, "typed")
		before := s.readStrict(t, "typed")
		after := before.DeepCopy()
		after.Status.Nodes = []string{}
		_, err := strictWriter(s.ours.dynamic(stricts)).Commit(t.Context(), before, after, running)
		require.NoError(t, err, "the schema requires fields that are zero")
	})
	t.Run("Unstructured", func(t *testing.T) {
		before := s.object(t, stricts, "untyped")
		after := withStatus(before, object{"active": int64(0), "nodes": []any{}, "totals": object{"Failed": int64(0)}})
		_, err := via(s.ours.dynamic(stricts).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
		require.NoError(t, err)
	})
}

// TestCommit_WhatTheSchemaDoesNotKeepIsOneWrite: equal reconciles write once
// and report once, even if the CRD changes the status.
func TestCommit_WhatTheSchemaDoesNotKeepIsOneWrite(t *testing.T) {
	base := func(r *strictStatus) { r.Nodes = []string{"n"} }
	for name, tc := range map[string]struct {
		reason string
		set    func(*strictStatus)
		path   string
	}{
		"Pruned":    {"The schema does not declare the field.", func(r *strictStatus) { r.Typo = "x" }, "status.typo"},
		"Defaulted": {"The schema sets a cleared field again.", func(r *strictStatus) { r.Mode = "" }, ""},
		"Forms": {"One value has several forms in JSON.", func(r *strictStatus) {
			r.Extra = &runtime.RawExtension{Raw: []byte(`{"a":1.0,"b":1e3,"c":"\u00e9\/"}`)}
		}, ""},
		"Text": {"The API server stores valid UTF-8.", func(r *strictStatus) { r.Nodes = []string{"a\xff\xfeb"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.object(t, stricts, "a")
			w := strictWriter(s.ours.dynamic(stricts))
			var failed []error
			for range 5 {
				before := s.readStrict(t, "a")
				after := before.DeepCopy()
				base(&after.Status)
				tc.set(&after.Status)
				if _, err := w.Commit(t.Context(), before, after, running); err != nil {
					failed = append(failed, err)
				}
			}
			assert.Len(t, s.wire.sent(), 1, tc.reason)
			if tc.path == "" {
				assert.Empty(t, failed, tc.reason)
			} else if assert.Len(t, failed, 1, tc.reason) {
				assert.ErrorContains(t, failed[0], tc.path)
			}
		})
	}
	t.Run("Cleared", func(t *testing.T) {
		s := newStage(t)
		s.object(t, stricts, "a")
		w := strictWriter(s.ours.dynamic(stricts))
		before := s.readStrict(t, "a")
		after := before.DeepCopy()
		after.Status.Nodes, after.Status.Mode = []string{"n"}, "Manual"
		_, err := w.Commit(t.Context(), before, after, running)
		require.NoError(t, err)
		s.wire.sent()
		var failed []error
		for range 5 {
			before := s.readStrict(t, "a")
			after := before.DeepCopy()
			after.Status.Mode = ""
			if _, err := w.Commit(t.Context(), before, after, running); err != nil {
				failed = append(failed, err)
			}
		}
		assert.Len(t, s.wire.sent(), 1, "the write that the default undoes")
		if assert.Len(t, failed, 1) {
			assert.ErrorContains(t, failed[0], "status.mode")
		}
	})
}
