// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/status"
)

// kind is a kind with any status.
type kind[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            S `json:"status,omitzero"`
}

func (k *kind[S]) DeepCopyObject() runtime.Object {
	out := new(kind[S])
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k)
	if err == nil {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, out)
	}
	return out
}

// readKind reads the stored object as a typed client does.
func readKind[S any](t *testing.T, s *stage, r schema.GroupVersionResource) *kind[S] {
	t.Helper()
	out, err := decode[kind[S]](s.readLoose(t, r))
	require.NoError(t, err)
	return out
}

// readLoose reads the stored object as a dynamic client does.
func (s *stage) readLoose(t *testing.T, r schema.GroupVersionResource) *unstructured.Unstructured {
	t.Helper()
	u, err := s.theirs.dynamic(r).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	return u
}

type cloudStatus struct {
	status.Stamp `json:",inline"`

	Conditions []cloudCondition `json:"conditions,omitempty"`
}

type cloudCondition struct {
	Type              string       `json:"type"`
	Status            string       `json:"status"`
	Message           string       `json:"message,omitempty"`
	Severity          string       `json:"severity,omitempty"`
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`
}

// TestCommit_WritesConditionsOfAnotherType: the CRD would prune the fields that
// only a metav1.Condition has. Each process writes once, without an error.
func TestCommit_WritesConditionsOfAnotherType(t *testing.T) {
	t.Run("Typed", func(t *testing.T) {
		s := newStage(t)
		s.object(t, clouds, "a")
		for _, verdict := range []string{"False", "False", "True", "True"} {
			before := readKind[cloudStatus](t, s, clouds)
			after := readKind[cloudStatus](t, s, clouds)
			after.Status.Conditions = []cloudCondition{{Type: "Ready", Status: verdict, Severity: "Error"}}
			w := via(typed[kind[cloudStatus]](s.ours.dynamic(clouds)), status.Writer{})
			_, err := w.Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		}
		assert.Len(t, s.wire.Take(), 2)
		stored, _, err := unstructured.NestedSlice(s.readLoose(t, clouds).Object, "status", "conditions")
		require.NoError(t, err)
		assert.Equal(t, []any{object{"type": "Ready", "status": "True", "severity": "Error"}}, stored)
	})
	t.Run("Unstructured", func(t *testing.T) {
		s := newStage(t)
		s.object(t, clouds, "a")
		require.NoError(t, merge(`{"status":{"conditions":[{"type":"Ready","status":"False","severity":"Error"}]}}`)(t, s.theirs.dynamic(clouds), names{}))
		for _, verdict := range []string{"True", "True", "False"} {
			before := s.readLoose(t, clouds)
			after := withStatus(before, object{"conditions": []any{object{"type": "Ready", "status": verdict}}})
			_, err := via(s.ours.dynamic(clouds).Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			require.NoError(t, err)
		}
		assert.Len(t, s.wire.Take(), 2)
	})
}
