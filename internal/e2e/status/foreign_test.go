// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
	"github.com/proompteng/controllerkit/status/statustest"
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

	Phase      string           `json:"phase,omitempty"`
	Conditions []cloudCondition `json:"conditions,omitempty"`
}

type cloudCondition struct {
	Type              string       `json:"type"`
	Status            string       `json:"status"`
	Message           string       `json:"message,omitempty"`
	Severity          string       `json:"severity,omitempty"`
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`
}

// TestContract_HoldsForConditionsOfAnotherType: the CRD prunes the fields that
// only a metav1.Condition has, so Commit does not send them.
func TestContract_HoldsForConditionsOfAnotherType(t *testing.T) {
	type cloud = kind[cloudStatus]
	s := newStage(t)
	theirs := s.theirs.dynamic(clouds)
	var created atomic.Int64
	statustest.Run(t, statustest.Kind[*cloud]{
		Writer: via(typed[cloud](s.ours.dynamic(clouds)), status.Writer{}),
		Create: func(t *testing.T) *cloud {
			t.Helper()
			o, err := decode[cloud](s.object(t, clouds, "a"+strconv.FormatInt(created.Add(1), 10)))
			require.NoError(t, err)
			return o
		},
		Get: func(ctx context.Context, o *cloud) (*cloud, error) {
			u, err := theirs.Get(ctx, o.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return decode[cloud](u)
		},
		Patch: func(ctx context.Context, o status.Object, subresource string, data []byte) error {
			_, err := theirs.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, subresource)
			return err
		},
		Set: func(o *cloud, n int) {
			o.Status.Phase = strconv.Itoa(n)
			isReady := func(c cloudCondition) bool { return c.Type == "Ready" }
			o.Status.Conditions = slices.DeleteFunc(o.Status.Conditions, isReady)
			o.Status.Conditions = append(o.Status.Conditions, cloudCondition{Type: "Ready", Status: "True", Severity: "Error"})
		},
		Spec:     `{"image":"other"}`,
		Refused:  func(o *cloud) { o.Status.Phase = strings.Repeat("x", 2<<20) },
		NoSchema: "the Go type and the CRD have the same fields, and none is required or has a default",
	})
}

// TestCommit_WritesConditionsOfAnotherType: a stored condition shows which
// fields the CRD has.
func TestCommit_WritesConditionsOfAnotherType(t *testing.T) {
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
}
