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

func TestPatch_FieldThatChangesItsType(t *testing.T) {
	for name, values := range map[string][2]any{
		"ObjectToNumber": {map[string]any{"b": int64(1)}, int64(5)},
		"ObjectToList":   {map[string]any{"b": int64(1)}, []any{"x"}},
		"NumberToObject": {int64(5), map[string]any{"b": int64(1)}},
		"NullToEmpty":    {[]any(nil), []any{}},
		"ToLargeNumber":  {int64(1), float64(1 << 63)},
	} {
		patch, err := status.FieldNames{UpdatedAt: "-"}.Patch(idle(values[0]), idle(values[1]), running, noon)
		require.NoError(t, err, name)
		assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"a":`+encode(t, values[1])+`}}`, string(patch), name)
	}
}

// TestPatch_RepeatsNestedZeroFields: the schema may require them, and a typed
// object does not show whether they are stored.
func TestPatch_RepeatsNestedZeroFields(t *testing.T) {
	type totals struct {
		Failed  int      `json:"failed"`
		Names   []string `json:"names"`
		Full    []string `json:"full"`
		Done    bool     `json:"done"`
		Ratio   float64  `json:"ratio"`
		Comment string   `json:"comment"`
		Empty   struct{} `json:"empty"`
	}
	type shape struct {
		Phase  string `json:"phase"`
		Totals totals `json:"totals"`
		Idle   totals `json:"idle"`
	}
	some := totals{Failed: 1, Names: []string{}, Full: []string{"x"}, Done: true, Ratio: 0.5, Comment: "x"}
	patch, err := status.FieldNames{UpdatedAt: "-"}.Patch(kindOf(shape{Totals: some}), kindOf(shape{Phase: "Running", Totals: some}), status.Facts{}, noon)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"phase":"Running","totals":{"names":[],"empty":{}},
		"idle":{"failed":0,"done":false,"ratio":0,"comment":"","empty":{}}}}`, string(patch))
}

func TestPatch_UnstructuredObjectWithoutStatus(t *testing.T) {
	bare := func() *unstructured.Unstructured {
		u := loose(nil)
		delete(u.Object, "status")
		u.SetGeneration(0)
		return u
	}
	before, after := loose(map[string]any{"a": nil}), bare()
	before.SetGeneration(0)
	patch, err := status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.Nil(t, patch, "null is the same as no field")
	assert.NotContains(t, after.Object, "status")

	before, after = bare(), loose(map[string]any{"a": nil})
	_, err = status.FieldNames{}.Patch(before, after, status.Facts{}, noon)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{}, after.Object["status"], "as the API server stores it")

	before, after = idle(nil), bare()
	patch, err = status.FieldNames{}.Patch(before, after, running, noon)
	require.NoError(t, err)
	assert.Nil(t, patch, "the contract keeps its fields")
	assert.Equal(t, map[string]any{"observedGeneration": int64(1), "startedAt": "2025-06-01T12:00:00Z"}, after.Object["status"])
}

// TestFieldNames_FindsTheFieldThatEncodingJSONFinds: of two fields of one name
// that are embedded equally deep, encoding/json uses neither, and it does not
// look into a field with a name.
func TestFieldNames_FindsTheFieldThatEncodingJSONFinds(t *testing.T) {
	type start struct{ Began *metav1.Time }
	type Other struct{ Began *metav1.Time }
	type twice struct {
		start
		Other
	}
	type once struct {
		twice
		Began *metav1.Time
	}
	type named struct {
		Inner start
		Other `json:"other"`
	}
	type itself struct {
		*itself //nolint:unused // find must not follow it forever
		start
	}
	for name, tc := range map[string]struct {
		before, after status.Object
		found         bool
	}{
		"Twice":  {kindOf(twice{}), kindOf(twice{}), false},
		"Once":   {kindOf(once{}), kindOf(once{}), true},
		"Named":  {kindOf(named{}), kindOf(named{}), false},
		"Itself": {kindOf(itself{}), kindOf(itself{}), true},
	} {
		patch, err := status.FieldNames{StartedAt: "Began"}.Patch(tc.before, tc.after, running, noon)
		if !tc.found {
			require.ErrorContains(t, err, "status.Began: the status has no such field", name)
			continue
		}
		require.NoError(t, err, name)
		assert.JSONEq(t, `{"metadata":{"resourceVersion":"1"},"status":{"Began":"2025-06-01T12:00:00Z"}}`, string(patch), name)
	}
}
