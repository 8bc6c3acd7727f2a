// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"slices"

	"github.com/proompteng/controllerkit/status"
)

// The cases of a CRD's schema.

// with returns a function that sets the first status and more. It ends the case
// if the kind has no such function.
func (t *trial[T]) with(name string, more func(T)) func(T) {
	t.Helper()
	if more == nil {
		t.Fatalf("Kind.%s is not set; set it, or set Kind.NoSchema to the reason why it is not", name)
	}
	return func(o T) {
		t.Set(o, 1)
		more(o)
	}
}

func (t *trial[T]) pruned() {
	set := t.with("Pruned", t.Pruned)
	o := t.create()
	_, result, err := t.commit(o, set, running())
	if err == nil || result != status.Written {
		t.breach("the first Commit returned %q and the error %v; want %q and an error that names the field",
			result, err, status.Written)
		return
	}
	t.requireIdle(o, set)
}

func (t *trial[T]) defaulted() {
	set := t.with("Defaulted", t.Defaulted)
	o := t.create()
	_, _, err := t.commit(o, set, running())
	if err != nil {
		t.breach("the first Commit returned the error %v", err)
		return
	}
	t.requireIdle(o, set)
}

func (t *trial[T]) nullable() {
	set := t.with("Nullable", t.Nullable)
	o := t.create()
	was := t.read(o)
	_, result, err := t.commit(o, set, running())
	if err == nil {
		t.breach("Commit returned %q and no error", result)
	}
	t.requireSame(o, was)
}

func (t *trial[T]) required() {
	set := t.with("Required", t.Required)
	o := t.create()
	_, _, err := t.commit(o, set, running())
	if err != nil {
		t.breach("Commit returned the error %v", err)
		return
	}
	t.requireStored(t.read(o), t.changed(o, set))
}

func (t *trial[T]) refused() {
	set := t.with("Refused", t.Refused)
	o := t.create()
	t.reconcile(o, 1)
	for range 2 {
		_, _, err := t.commit(t.read(o), set, status.Facts{Progress: status.Done})
		if err == nil {
			t.breach("Commit returned no error; want one that names the field")
		}
		stored := t.read(o)
		if !t.isTruncated(stored) {
			t.breach("the condition %s is not True in the status %s", status.StatusTruncated, t.text(stored))
			return
		}
		if t.FieldNames.FinishedAt != absent && t.stamp(stored).FinishedAt.IsZero() {
			t.breach("status.%s of a Done object is not set", t.FieldNames.FinishedAt)
		}
	}
	t.reconcile(o, 2)
	stored := t.read(o)
	if t.isTruncated(stored) {
		t.breach("the condition %s is True in the status %s, which is whole",
			status.StatusTruncated, t.text(stored))
	}
}

// isTruncated reports whether the status has the condition StatusTruncated.
func (t *trial[T]) isTruncated(o T) bool {
	t.Helper()
	conditions, _ := t.fields(o)[t.FieldNames.Conditions].([]any)
	return slices.ContainsFunc(conditions, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == status.StatusTruncated && condition["status"] == "True"
	})
}
