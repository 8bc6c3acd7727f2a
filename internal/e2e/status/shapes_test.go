// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	_, err := via(s.dynamic(plains).Patch, status.Writer{}).Commit(t.Context(), before, withStatus(before, object{"phase": "Running"}), running)
	require.ErrorContains(t, err, "no status subresource")
	assert.True(t, apierrors.IsNotFound(err), "the API server's own words are wrapped")
	stored, err := s.dynamic(plains).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, before.Object, stored.Object, "and nothing is written past the subresource")
}
