// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Rule is one CEL validation rule of a CRD: an element of
// x-kubernetes-validations.
type Rule struct {
	// Rule is the CEL expression.
	Rule string
	// Message is the API server's answer to a writer that breaks the rule.
	Message string
}

// Rules returns CEL rules by which the API server holds every writer to the
// contract: the status is never dropped, observedGeneration never goes back,
// startedAt and finishedAt never move. A field with the name "-" gets no rule.
// Rules does not check the names.
//
// They belong on the root of the schema: on the status itself, `status: null`
// would escape them. With controller-gen, copy the markers of the zero
// [FieldNames] above the type of the kind (markers within an embedded struct
// land on the status):
//
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status may not be dropped"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.observedGeneration) || has(self.status.observedGeneration) && self.status.observedGeneration >= oldSelf.status.observedGeneration",message="status.observedGeneration may not go back"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.startedAt) || has(self.status.startedAt) && int(self.status.startedAt) == int(oldSelf.status.startedAt)",message="status.startedAt may not change once set"
//	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(self.status) || !has(oldSelf.status.finishedAt) || has(self.status.finishedAt) && int(self.status.finishedAt) == int(oldSelf.status.finishedAt)",message="status.finishedAt may not change once set"
//
// A kind without one of the fields must leave its marker out: the schema must
// declare each, the times with format date-time. Times are compared in whole
// seconds, because a rewrite of .123Z as Z is not a change. The rules compare
// with the stored object (oldSelf), so they do not apply when it is created.
// The API server may refuse to restore a backup over an existing object: delete
// the object first. A rule cannot read metadata.generation. [Check] reports an
// observedGeneration that is greater.
//
// kstatus reports an object without observedGeneration as Current. The marker
// +kubebuilder:default={"observedGeneration":-1} on the status field makes it
// InProgress. This package accepts -1: it is less than every generation.
func Rules(n FieldNames) []Rule {
	rules := []Rule{{
		Rule:    "!has(oldSelf.status) || has(self.status)",
		Message: "status may not be dropped",
	}}
	for _, f := range [...]struct{ name, holds, message string }{
		{cmp.Or(n.ObservedGeneration, "observedGeneration"), "self.FIELD >= oldSelf.FIELD", "may not go back"},
		{cmp.Or(n.StartedAt, "startedAt"), "int(self.FIELD) == int(oldSelf.FIELD)", "may not change once set"},
		{cmp.Or(n.FinishedAt, "finishedAt"), "int(self.FIELD) == int(oldSelf.FIELD)", "may not change once set"},
	} {
		if f.name == absent {
			continue
		}
		const guard = "!has(oldSelf.status) || !has(self.status) || !has(oldSelf.FIELD) || has(self.FIELD) && "
		rules = append(rules, Rule{
			Rule:    strings.ReplaceAll(guard+f.holds, "FIELD", "status."+celName(f.name)),
			Message: "status." + f.name + " " + f.message,
		})
	}
	return rules
}

// celName escapes the name of a property as the API server does
// (k8s.io/apiserver/pkg/cel, escaping.go).
func celName(name string) string {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while":
		return "__" + name + "__"
	}
	return strings.NewReplacer("__", "__underscores__", "-", "__dash__", "/", "__slash__").Replace(name)
}

// Check returns an error for each rule of the contract that the change from
// before to after breaks, and nil if it breaks none. liveGeneration is the
// generation of the object that after was read from. Check is for property
// tests of controllers: read the stamps of two successive versions of an object
// with [FieldNames.Stamp]. Times are compared in whole seconds. Check accepts
// an updatedAt that stands still or goes back, because two writes may be in one
// second and clocks differ. For a kind without updatedAt, set it to any time in
// both stamps.
func Check(before, after Stamp, liveGeneration int64) []error {
	var broken []error
	breach := func(format string, args ...any) { broken = append(broken, fmt.Errorf("status: "+format, args...)) }

	if after.ObservedGeneration < before.ObservedGeneration {
		breach("observedGeneration went back from %d to %d", before.ObservedGeneration, after.ObservedGeneration)
	}
	if after.ObservedGeneration > liveGeneration {
		breach("observedGeneration is %d, ahead of generation %d", after.ObservedGeneration, liveGeneration)
	}
	once := func(name string, was, is *metav1.Time) {
		if !was.IsZero() && !sameSecond(was, is) {
			breach("%s moved from %s to %s", name, show(was), show(is))
		}
	}
	once("startedAt", before.StartedAt, after.StartedAt)
	once("finishedAt", before.FinishedAt, after.FinishedAt)
	if !after.StartedAt.IsZero() && !after.FinishedAt.IsZero() && after.FinishedAt.Unix() < after.StartedAt.Unix() {
		breach("finishedAt %s is before startedAt %s", show(after.FinishedAt), show(after.StartedAt))
	}
	moved := after.ObservedGeneration != before.ObservedGeneration ||
		!sameSecond(after.StartedAt, before.StartedAt) || !sameSecond(after.FinishedAt, before.FinishedAt)
	if after.UpdatedAt.IsZero() && (moved || !before.UpdatedAt.IsZero()) {
		breach("updatedAt is not set after a write")
	}
	return broken
}

func show(t *metav1.Time) string {
	if t.IsZero() {
		return "unset"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

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
	return before.GetResourceVersion() == after.GetResourceVersion() ||
		before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() || after.GetGeneration() == 0 ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!slices.EqualFunc(before.GetOwnerReferences(), after.GetOwnerReferences(), func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations())
}
