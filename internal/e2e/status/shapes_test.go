// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/examples/agentrun/api/v1alpha1"
	"github.com/proompteng/controllerkit/status"
)

// Objects, kinds and statuses of other authors.

// withStatus returns a copy with fields of the status set.
func withStatus(u *unstructured.Unstructured, fields object) *unstructured.Unstructured {
	u = u.DeepCopy()
	now, _, _ := unstructured.NestedMap(u.Object, "status")
	if now == nil {
		now = object{}
	}
	maps.Copy(now, fields)
	u.Object["status"] = now
	return u
}

func TestStatusSubresourceAbsent(t *testing.T) {
	s := newStage(t)
	before := s.object(t, plains, "a")
	_, err := via(s.ours.dynamic(plains).Patch, status.Writer{}).Commit(t.Context(), before, withStatus(before, object{"phase": "Running"}), running)
	require.ErrorContains(t, err, "no status subresource")
	assert.True(t, apierrors.IsNotFound(err), "the API server's own words are wrapped")
	stored, err := s.theirs.dynamic(plains).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, before.Object, stored.Object, "and nothing is written past the subresource")
}

// TestTypedClientOfANewerCRD: a controller with types older than the CRD keeps
// unknown fields, because it sends only its changes.
func TestTypedClientOfANewerCRD(t *testing.T) {
	s := newStage(t)
	s.object(t, tasks, "a")
	u, err := s.theirs.dynamic(tasks).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"status":{"cursor":{"page":7},"conditions":[
		{"type":"Other","status":"True","reason":"Ok","message":"","lastTransitionTime":"2025-06-01T12:00:00Z","severity":"Info"}]}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	before, err := decode[v1alpha1.AgentRun](u)
	require.NoError(t, err)
	require.Len(t, before.Status.Conditions, 1)
	w := status.Writer{FieldNames: status.FieldNames{StartedAt: "-", FinishedAt: "-"}}

	after := before.DeepCopy()
	after.Status.Phase = "Running"
	_, err = via(typed[v1alpha1.AgentRun](s.ours.dynamic(tasks)), w).Commit(t.Context(), before, after, waiting)
	require.NoError(t, err)
	now, err := s.theirs.dynamic(tasks).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	fields := now.Object["status"].(object)
	assert.Equal(t, "Running", fields["phase"])
	assert.Equal(t, object{"page": int64(7)}, fields["cursor"])
	assert.Equal(t, "Info", fields["conditions"].([]any)[0].(object)["severity"], "a list that did not change is not sent")
}

// typed is the Patch of a dynamic client for objects that have a Go type.
func typed[T any](c dynamic.ResourceInterface) patchFunc[*T] {
	return func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*T, error) {
		u, err := c.Patch(ctx, name, pt, data, opts, subresources...)
		if err != nil {
			return nil, err
		}
		return decode[T](u)
	}
}

func decode[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}
