// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import "github.com/proompteng/controllerkit/status"

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
