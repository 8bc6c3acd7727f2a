// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// NeedsReconcile reports whether an update of an object can matter to the
// controller that writes its status. It is true if the spec (by its
// generation), deletion, finalizers, owners (by their uids), labels or
// annotations changed, or another object took the name. It is false if only the
// status changed. Use it in an informer filter or a predicate to avoid
// reconciling on the controller's own status updates.
//
// It is also true for an update with the same resourceVersion: that is a resync
// of the informer, which asks to reconcile again. It is true for a nil before,
// which is a creation, and for a nil after, which is a deletion. For a kind
// without generations every update counts. A controller that waits for a status
// of another controller needs a different filter.
func NeedsReconcile(before, after metav1.Object) bool {
	if isnil.Is(before) || isnil.Is(after) {
		return true
	}
	switch {
	case before.GetResourceVersion() == after.GetResourceVersion(),
		before.GetUID() != after.GetUID(),
		before.GetGeneration() != after.GetGeneration(),
		after.GetGeneration() == 0,
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()),
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()),
		!slices.EqualFunc(before.GetOwnerReferences(), after.GetOwnerReferences(), sameOwnerUID),
		!maps.Equal(before.GetLabels(), after.GetLabels()),
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()):
		return true
	}
	return false
}

func sameOwnerUID(a, b metav1.OwnerReference) bool { return a.UID == b.UID }
