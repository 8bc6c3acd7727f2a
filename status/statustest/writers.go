// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proompteng/controllerkit/status"
)

// The cases of two writers.

const (
	otherType = "StatusTest"
	label     = "statustest"
)

func (t *trial[T]) otherField() {
	o := t.create()
	t.reconcile(o, 1)
	before := t.read(o)
	t.label(o)
	hasConditions := t.FieldNames.Conditions != absent
	if hasConditions {
		t.addCondition(before)
	}
	_, result, err := t.commit(before, t.nth(2), running())
	if err != nil || result != status.Merged {
		t.breach("Commit returned %q and the error %v; want %q", result, err, status.Merged)
		return
	}
	stored := t.read(o)
	t.requireStored(stored, t.changed(before, t.nth(2)))
	if stored.GetLabels()[label] == "" {
		t.breach("the label of another program is gone")
	}
	if hasConditions && !t.hasCondition(stored) {
		t.breach("the condition of another program is gone from status.%s", t.FieldNames.Conditions)
	}
}

// label sets a label like a user.
func (t *trial[T]) label(o T) {
	t.Helper()
	t.patchObject(o, `{"metadata":{"labels":{"`+label+`":"set"}}}`)
}

// addCondition adds a condition to those of o like another controller.
func (t *trial[T]) addCondition(o T) {
	t.Helper()
	name := t.FieldNames.Conditions
	list, _ := t.fields(o)[name].([]any)
	list = append(list, map[string]any{
		"type": otherType, "status": "True", "reason": otherType, "message": "",
		"lastTransitionTime": "2025-06-01T12:00:00Z",
	})
	t.patchStatus(o, map[string]any{name: list})
	if !t.hasCondition(t.read(o)) {
		t.Fatalf(`the API server does not store a condition in status.%s; `+
			`set FieldNames.Conditions to the list's name, or to "-" for none`, name)
	}
}

func (t *trial[T]) hasCondition(o T) bool {
	t.Helper()
	list, _ := t.fields(o)[t.FieldNames.Conditions].([]any)
	for _, element := range list {
		c, _ := element.(map[string]any)
		if c["type"] == otherType {
			return true
		}
	}
	return false
}

func (t *trial[T]) sameField() {
	o := t.create()
	t.reconcile(o, 1)
	before := t.read(o)
	other := t.changed(before, t.nth(2))
	if len(other) == 0 {
		t.Fatal("Kind.Set makes one status of 1 and 2; want two values of a field, not of a condition")
	}
	t.patchStatus(o, other)
	t.requireRefusal(before, status.ErrFieldConflict)
}

func (t *trial[T]) superseded() {
	o := t.create()
	t.reconcile(o, 1)
	before := t.read(o)
	t.changeSpec(before)
	t.patchStatus(o, map[string]any{t.FieldNames.ObservedGeneration: before.GetGeneration() + 1})
	t.requireRefusal(before, status.ErrSuperseded)
}

func (t *trial[T]) recreated() {
	o := t.create()
	t.reconcile(o, 1)
	earlier := t.read(o)
	earlier.SetUID(types.UID("earlier-" + string(o.GetUID())))
	t.label(o) // the new object has another resourceVersion
	t.requireRefusal(earlier, status.ErrReplaced)
}

func (t *trial[T]) staleCopy() {
	o := t.create()
	t.reconcile(o, 1)
	stale := t.read(o)
	t.reconcile(o, 2)
	t.requireRefusal(stale, status.ErrStaleRead)
}

// requireRefusal reports a Commit that does not return the error, or writes.
func (t *trial[T]) requireRefusal(before T, want error) {
	t.Helper()
	was := t.read(before)
	_, result, err := t.commit(before, t.nth(3), running())
	if !errors.Is(err, want) {
		t.breach("Commit returned %q and the error %v", result, err)
	}
	t.requireSame(before, was)
}
