// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/proompteng/controllerkit/examples/unstructured/condition"
	"github.com/proompteng/controllerkit/status"
)

// manyControllers have one condition each in the same object.
const manyControllers = 10

// typeOf is the condition of a controller.
func typeOf(controller int) string { return fmt.Sprintf("Controller%d", controller) }

// together runs one function for each controller at the same time.
func together(act func(controller int) error) error {
	errs := make([]error, manyControllers)
	var all sync.WaitGroup
	for i := range manyControllers {
		all.Go(func() { errs[i] = act(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// TestManyControllers_Apply: ten controllers have read the object, and each
// sets its condition with one request. The Writer owns the rest.
func TestManyControllers_Apply(t *testing.T) {
	s := newStage(t)
	before := s.object(t, quotas, "a")
	apply := func(o *unstructured.Unstructured, i int, verdict metav1.ConditionStatus) error {
		c := metav1.Condition{Type: typeOf(i), Status: verdict, Reason: "Ok"}
		return condition.Apply(t.Context(), s.ours.dynamic(quotas), o, fmt.Sprintf("controller-%d", i), c)
	}
	require.NoError(t, together(func(i int) error { return apply(before, i, "False") }))
	assert.Len(t, s.wire.Take(), manyControllers, "one patch each")

	w := via(s.ours.dynamic(quotas).Patch, status.Writer{
		FieldNames: status.FieldNames{UpdatedAt: "-", StartedAt: "-", FinishedAt: "-"},
	})
	_, err := w.Commit(t.Context(), before, withStatus(before, object{"requeues": int64(1)}), status.Facts{})
	require.NoError(t, err)
	s.wire.Take()
	stored := s.readLoose(t, quotas)
	assert.Len(t, conditionsIn(t, stored), manyControllers, "the Writer keeps them all")

	// Each changes its condition, and then has nothing to send.
	require.NoError(t, together(func(i int) error { return apply(stored, i, "True") }))
	stored = s.readLoose(t, quotas)
	require.NoError(t, together(func(i int) error { return apply(stored, i, "True") }))
	assert.Len(t, s.wire.Take(), manyControllers)
	assert.EqualValues(t, 1, stored.Object["status"].(object)["requeues"], "the applies keep the rest")
	for _, c := range conditionsIn(t, stored) {
		assert.Equal(t, "True", c.(object)["status"])
	}
}

// TestManyControllers_WhatAnApplyDoesNotDo: in a list that is no map by type,
// each apply replaces the conditions of all other controllers. An apply has no
// resourceVersion, and the API server does not look at a uid in it, so that it
// reaches an object that was created again. Commit returns ErrReplaced.
func TestManyControllers_WhatAnApplyDoesNotDo(t *testing.T) {
	s := newStage(t)
	for _, r := range []schema.GroupVersionResource{tasks, quotas} {
		before := s.object(t, r, "a")
		require.NoError(t, s.theirs.dynamic(r).Delete(t.Context(), "a", metav1.DeleteOptions{}))
		s.object(t, r, "a")
		for i := range 2 {
			c := metav1.Condition{Type: typeOf(i), Status: "True", Reason: "Ok"}
			require.NoError(t, condition.Apply(t.Context(), s.ours.dynamic(r), before, fmt.Sprintf("controller-%d", i), c))
		}
	}
	assert.Len(t, conditionsIn(t, s.readLoose(t, tasks)), 1)
	assert.Len(t, conditionsIn(t, s.readLoose(t, quotas)), 2)
}

func conditionsIn(t *testing.T, u *unstructured.Unstructured) []any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	return list
}
