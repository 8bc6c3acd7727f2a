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

// onStore changes each list of this name under the status as the schema does.
func (s *server) onStore(list string, change func(item map[string]any)) {
	s.stored = func(o map[string]any) {
		items, _, _ := unstructured.NestedSlice(o, "status", list)
		if items == nil {
			return
		}
		for _, item := range items {
			change(item.(map[string]any))
		}
		_ = unstructured.SetNestedSlice(o, items, "status", list)
	}
}

func TestUnkept_ADefaultInAListIsNotALoss(t *testing.T) {
	steps := []any{map[string]any{"name": "a", "limits": map[string]any{"cpu": int64(2)}, "args": []any{"x", map[string]any{"key": "k"}}}}
	setDefault := func(item map[string]any) {
		item["mode"] = "Auto"
		item["limits"].(map[string]any)["memory"] = int64(64)
		item["args"].([]any)[1].(map[string]any)["quoted"] = true
	}
	for name, tc := range map[string]struct {
		reason string
		change func(item map[string]any)
		fails  bool
	}{
		"Default":          {"The schema sets fields that were not sent.", setDefault, false},
		"DefaultAndPruned": {"A field that was sent is gone.", func(item map[string]any) { setDefault(item); delete(item, "name") }, true},
		"Changed":          {"A field that was sent has another value.", func(item map[string]any) { item["name"] = "b" }, true},
		"InnerChanged":     {"So has a field of an object in an element.", func(item map[string]any) { item["limits"] = map[string]any{"cpu": int64(1)} }, true},
		"Longer":           {"An element that was not sent is not a default.", func(item map[string]any) { item["args"] = append(item["args"].([]any)[:2], "y") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.onStore("steps", tc.change)
			w := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{})
			var failed []error
			for range 3 {
				before := get[unstructured.Unstructured](t, s, "a")
				after := before.DeepCopy()
				require.NoError(t, unstructured.SetNestedSlice(after.Object, steps, "status", "steps"))
				_, err := w.Commit(t.Context(), before, after, running)
				if err != nil {
					failed = append(failed, err)
				}
			}
			assert.Equal(t, 1, s.sent(), "the difference is not written again")
			if !tc.fails {
				assert.Empty(t, failed, tc.reason)
				return
			}
			require.Len(t, failed, 1, tc.reason)
			require.ErrorContains(t, failed[0], "status.steps")
		})
	}
}

func TestUnkept_ADefaultInAConditionIsNotALoss(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(item map[string]any)
		fails  bool
	}{
		"Default": {"The schema sets a field that was not sent.", func(item map[string]any) { item["severity"] = "Info" }, false},
		"Pruned":  {"A field that was sent is gone.", func(item map[string]any) { delete(item, "owner") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.create("a")
			s.onStore("conditions", tc.change)
			before := get[unstructured.Unstructured](t, s, "a")
			after := before.DeepCopy()
			require.NoError(t, unstructured.SetNestedSlice(after.Object, []any{
				map[string]any{"type": "Ready", "status": "True", "reason": "Ok", "message": "", "owner": "a"},
			}, "status", "conditions"))
			_, err := via(client[unstructured.Unstructured]{s}.Patch, status.Writer{}).Commit(t.Context(), before, after, running)
			assert.Equal(t, tc.fails, err != nil, "%s %v", tc.reason, err)
		})
	}
}
