// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Concerns reports whether an update of an object can matter to the controller that writes its status. It is true if the spec
// (by its generation), deletion, finalizers, owners, labels or annotations changed, or another object took the name, and
// false if only the status did. Use it in an informer's filter or a predicate, lest each write of a status causes a reconcile.
//
// It is also true for an update that changed nothing at all, with the same resourceVersion: that is a resync, by which the
// informer asks to look again. A nil before is a creation and a nil after a deletion: true. Of a kind without generations
// every update concerns. A controller that waits for what another one writes to the status needs a filter of its own.
func Concerns(before, after metav1.Object) bool {
	if isNil(before) || isNil(after) {
		return true
	}
	return before.GetResourceVersion() == after.GetResourceVersion() ||
		before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() || after.GetGeneration() == 0 ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!slices.EqualFunc(before.GetOwnerReferences(), after.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations())
}
