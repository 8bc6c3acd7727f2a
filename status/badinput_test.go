// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/proompteng/controllerkit/status"
)

func TestCommit_AcceptsNullAtEveryDepth(t *testing.T) {
	s := newServer(t)
	w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
	for name, fields := range map[string]any{
		"Status":           nil,
		"Contract":         map[string]any{"observedGeneration": nil, "updatedAt": nil, "startedAt": nil, "finishedAt": nil},
		"Conditions":       map[string]any{"conditions": nil},
		"FieldOfCondition": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": nil, "extra": nil}}},
		"Object":           map[string]any{"a": map[string]any{"b": nil}},
		"List":             map[string]any{"a": []any{nil, map[string]any{"b": nil}, []any{nil}}},
	} {
		s.create("a")
		for range 2 {
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			after.Object["status"] = fields
			_, err := w.Commit(t.Context(), before, after.DeepCopy(), running)
			require.NoError(t, err, name)
		}
	}
}

func TestPatch_NamesBadConditions(t *testing.T) {
	condition := func(typ any) map[string]any { return map[string]any{"type": typ, "status": "True", "reason": "Ok"} }
	for name, tc := range map[string]struct {
		conditions any
		says       string
	}{
		"Object":   {map[string]any{"Ready": true}, `status.conditions: want a list of conditions, or for a list of another kind FieldNames.Conditions "-"`},
		"Text":     {"Ready", "status.conditions: want a list of conditions"},
		"NullItem": {[]any{nil}, "status.conditions[0]: want an object"},
		"NullType": {[]any{condition(nil)}, `status.conditions[0].type: "" is not accepted; want a name such as Ready`},
		"Twice":    {[]any{condition("Ready"), condition("Ready")}, `status.conditions[1].type: "Ready" is in the list twice; want each type once`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := status.FieldNames{}.Patch(loose(nil), loose(map[string]any{"conditions": tc.conditions}), status.Facts{}, noon)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// A version that is not a number has no order. It is sent as it is.
func TestCommit_SendsAVersionThatIsNotANumber(t *testing.T) {
	for _, version := range []string{"v1", "-1", "1.5", "99999999999999999999999"} {
		before := bigRun()
		before.ResourceVersion = version
		var sent string
		w := via(patching(func(data []byte, _ ...string) (*Run, error) {
			sent = string(data)
			return before, nil
		}), status.Writer{})
		_, err := w.Commit(t.Context(), before, withPhase(before, "Stopping"), running)
		require.ErrorContains(t, err, "status.phase", "the fake keeps nothing")
		assert.Contains(t, sent, `"resourceVersion":"`+version+`"`)
	}
}
