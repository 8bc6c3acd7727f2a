// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package condition_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/proompteng/controllerkit/examples/unstructured/condition"
)

// client keeps what is applied. The suite internal/e2e/status has the API
// server's own answer.
type client struct {
	dynamic.ResourceInterface

	applied []*unstructured.Unstructured
	options metav1.ApplyOptions
}

func (c *client) ApplyStatus(_ context.Context, _ string, o *unstructured.Unstructured, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	c.applied = append(c.applied, o)
	c.options = options
	return o, nil
}

// object is an object with a condition of another controller and with one of
// this controller.
func object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Run",
		"metadata": map[string]any{"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "7", "generation": int64(2)},
		"status": map[string]any{"phase": "Running", "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2025-06-01T12:00:00Z"},
			map[string]any{"type": "Paid", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2025-06-01T12:00:00Z", "observedGeneration": int64(2)},
		}},
	}}
}

func TestApply_SendsOnlyItsCondition(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    metav1.Condition
		sent   int
		since  string // the last transition
	}{
		"Same":    {"The condition is stored already.", metav1.Condition{Type: "Paid", Status: "True", Reason: "Ok"}, 0, ""},
		"Message": {"The status is the same, and so is the time.", metav1.Condition{Type: "Paid", Status: "True", Reason: "Late"}, 1, "2025-06-01T12:00:00Z"},
		"New":     {"Another controller's conditions are not sent.", metav1.Condition{Type: "Legal", Status: "True", Reason: "Ok"}, 1, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &client{}
			require.NoError(t, condition.Apply(t.Context(), c, object(), "payments", tc.set))
			require.Len(t, c.applied, tc.sent, tc.reason)
			if tc.sent == 0 {
				return
			}
			sent := c.applied[0].Object
			assert.Equal(t, map[string]any{"namespace": "default", "name": "a"}, sent["metadata"], "no resourceVersion")
			list, _, err := unstructured.NestedSlice(sent, "status", "conditions")
			require.NoError(t, err)
			require.Len(t, list, 1, tc.reason)
			assert.Equal(t, tc.set.Type, list[0].(map[string]any)["type"])
			assert.EqualValues(t, 2, list[0].(map[string]any)["observedGeneration"])
			if tc.since != "" {
				assert.Equal(t, tc.since, list[0].(map[string]any)["lastTransitionTime"], tc.reason)
			}
			assert.NotContains(t, sent["status"], "phase")
			assert.Equal(t, metav1.ApplyOptions{FieldManager: "payments", Force: true}, c.options)
		})
	}
}

func TestApply_RefusesConditionsThatAreNoList(t *testing.T) {
	o := object()
	o.Object["status"].(map[string]any)["conditions"] = "x"
	c := &client{}
	require.ErrorContains(t, condition.Apply(t.Context(), c, o, "payments", metav1.Condition{Type: "Paid", Status: "True"}), "the conditions of a")
	assert.Empty(t, c.applied)
}
