// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/proompteng/controllerkit/examples/unstructured/condition"
	"github.com/proompteng/controllerkit/status"
)

// TestManyControllers_Apply: ten controllers have read an object, and each sets
// its condition with one apply. An apply has no resourceVersion, and the API
// server does not look at a uid in it, so that it reaches an object that was
// created again. In a list that is a map by type all conditions stay. In any
// other list each apply replaces those of all other controllers.
func TestManyControllers_Apply(t *testing.T) {
	s := newStage(t)
	for r, stay := range map[schema.GroupVersionResource]int{tasks: 1, quotas: 10} {
		before := s.object(t, r, "a")
		require.NoError(t, s.dynamic(r).Delete(t.Context(), "a", metav1.DeleteOptions{}))
		s.object(t, r, "a")
		workqueue.ParallelizeUntil(t.Context(), 10, 10, func(i int) {
			c := metav1.Condition{Type: fmt.Sprint("Controller", i), Status: "True", Reason: "Ok"}
			assert.NoError(t, condition.Apply(t.Context(), s.dynamic(r), before, c.Type, c))
		})
		assert.Len(t, conditionsIn(t, s.readLoose(t, r)), stay)
	}
	stored := s.readLoose(t, quotas)
	w := via(s.dynamic(quotas).Patch, status.Writer{
		FieldNames: status.FieldNames{UpdatedAt: "-", StartedAt: "-", FinishedAt: "-"},
	})
	_, err := w.Commit(t.Context(), stored, withStatus(stored, object{"requeues": int64(1)}), status.Facts{})
	require.NoError(t, err)
	assert.Len(t, conditionsIn(t, s.readLoose(t, quotas)), 10, "the Writer keeps them all")
}

func conditionsIn(t *testing.T, u *unstructured.Unstructured) []any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	return list
}
