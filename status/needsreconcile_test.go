// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

func TestNeedsReconcile(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Run)
		want   bool
	}{
		"Status":      {"Our own write must not wake us.", func(r *Run) { r.Status.Phase = "Failed"; r.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, false},
		"Spec":        {"A new generation is a new spec.", func(r *Run) { r.Generation++ }, true},
		"Deletion":    {"The controller has to finish a deletion.", func(r *Run) { r.DeletionTimestamp = at(0) }, true},
		"Finalizers":  {"Another controller let go.", func(r *Run) { r.Finalizers = nil }, true},
		"Labels":      {"A label may select the object.", func(r *Run) { r.Labels = map[string]string{"a": "c"} }, true},
		"Annotations": {"An annotation may pause the controller.", func(r *Run) { r.Annotations = map[string]string{"pause": ""} }, true},
		"Owners":      {"An owner may have adopted it.", func(r *Run) { r.OwnerReferences = []metav1.OwnerReference{{UID: "x"}} }, true},
		"Recreated":   {"Another object of the name, missed between.", func(r *Run) { r.UID = "other" }, true},
		"Resync":      {"The informer asks to look again.", func(r *Run) { r.ResourceVersion = "4711" }, true},
		"NoGeneration": {"Without generations any update may change the spec.", func(r *Run) {
			r.Generation = 0
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := bigRun()
			before.Finalizers, before.Labels = []string{"f"}, map[string]string{"a": "b"}
			before.OwnerReferences = []metav1.OwnerReference{{UID: "o"}}
			after := before.DeepCopy()
			after.ResourceVersion = "4712"
			tc.change(after)
			if name == "NoGeneration" {
				before.Generation = 0
			}
			assert.Equal(t, tc.want, status.NeedsReconcile(before, after), tc.reason)
		})
	}
	assert.True(t, status.NeedsReconcile(nil, bigRun()), "a creation")
	assert.True(t, status.NeedsReconcile(bigRun(), nil), "a deletion")
	assert.True(t, status.NeedsReconcile((*Run)(nil), bigRun()))
}
