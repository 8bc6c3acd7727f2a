// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/proompteng/controllerkit/status"
)

// trial is one case with its object.
type trial[T status.Object] struct {
	*testing.T
	Kind[T]

	rule string
}

// breach reports that the rule of the case is broken.
func (t *trial[T]) breach(format string, args ...any) {
	t.Helper()
	t.Errorf("%s\nthe rule: %s", fmt.Sprintf(format, args...), t.rule)
}

// must ends the case after an error, because it cannot show its rule.
func (t *trial[T]) must(err error, doing string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}

// create creates an object that has what a Writer needs.
func (t *trial[T]) create() T {
	t.Helper()
	o := t.Create(t.T)
	switch {
	case o.GetUID() == "":
		t.Fatal("the created object has no uid; with a fake client, Kind.Create sets one")
	case o.GetResourceVersion() == "":
		t.Fatal("the created object has no resourceVersion; with a fake client, Kind.Create sets one")
	case o.GetGeneration() == 0 && t.FieldNames.ObservedGeneration != absent:
		t.Fatal("the created object has no generation; with a fake client, Kind.Create sets 1")
	}
	return o
}

// read returns the stored object.
func (t *trial[T]) read(o T) T {
	t.Helper()
	stored, err := t.Get(t.Context(), t.blank(o))
	t.must(err, "Kind.Get")
	return stored
}

// blank returns an object that has only the kind and the name of o.
func (t *trial[T]) blank(o T) T {
	t.Helper()
	blank, ok := reflect.TypeAssert[T](reflect.New(reflect.TypeOf(o).Elem()))
	if !ok {
		t.Fatalf("%T is not a pointer to a kind", o)
	}
	_, isUntyped := any(o).(runtime.Unstructured)
	if isUntyped {
		blank.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	}
	blank.SetNamespace(o.GetNamespace())
	blank.SetName(o.GetName())
	return blank
}

// copyOf returns a DeepCopy.
func (t *trial[T]) copyOf(o T) T {
	t.Helper()
	c, ok := o.DeepCopyObject().(T)
	if !ok {
		t.Fatalf("DeepCopyObject of %T returns another type", o)
	}
	return c
}

// commit reconciles before: it commits a DeepCopy that set has changed.
func (t *trial[T]) commit(before T, set func(T), f status.Facts) (T, status.Result, error) {
	t.Helper()
	after := t.copyOf(before)
	set(after)
	result, err := t.Writer.Commit(t.Context(), before, after, f)
	return after, result, err
}

// reconcile reads the object and commits the nth status. It must succeed.
func (t *trial[T]) reconcile(o T, n int) {
	t.Helper()
	_, _, err := t.commit(t.read(o), t.nth(n), running())
	t.must(err, "Commit of an object that no other program writes")
}

// running returns the facts of most cases.
func running() status.Facts { return status.Facts{Progress: status.Running} }

// nth returns a function that sets the nth status.
func (t *trial[T]) nth(n int) func(T) {
	return func(o T) { t.Set(o, n) }
}

// patchStatus writes fields of the status like another program.
func (t *trial[T]) patchStatus(o T, fields any) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"status": fields})
	t.must(err, "the patch of another program")
	t.must(t.Patch(t.Context(), t.blank(o), "status", data), "Kind.Patch of the status")
}

// patchObject writes to the object like a user.
func (t *trial[T]) patchObject(o T, patch string) {
	t.Helper()
	t.must(t.Patch(t.Context(), t.blank(o), "", []byte(patch)), "Kind.Patch of the object")
}

// changeSpec changes the spec like a user. A fake client stores the generation
// of the patch, and an API server ignores it.
func (t *trial[T]) changeSpec(o T) {
	t.Helper()
	generation := o.GetGeneration() + 1
	t.patchObject(o, fmt.Sprintf(`{"metadata":{"generation":%d},"spec":%s}`, generation, t.Spec))
	if t.read(o).GetGeneration() != generation {
		t.Fatalf("the patch %s did not change the generation; want one that changes the spec", t.Spec)
	}
}

// stamp reads the contract's fields.
func (t *trial[T]) stamp(o T) status.Stamp {
	t.Helper()
	s, err := Stamp(t.FieldNames, o)
	t.must(err, "reading the status")
	return s
}

// fields returns the decoded status.
func (t *trial[T]) fields(o T) map[string]any {
	t.Helper()
	raw, err := statusOf(o)
	t.must(err, "reading the status")
	fields := map[string]any{}
	for name := range raw {
		var value any
		t.must(json.Unmarshal(raw[name], &value), "reading the status")
		fields[name] = value
	}
	return fields
}

// text returns the status as JSON.
func (t *trial[T]) text(o T) []byte {
	t.Helper()
	text, err := json.Marshal(t.fields(o))
	t.must(err, "reading the status")
	return text
}

// isOfContract reports whether Commit computes the field.
func (t *trial[T]) isOfContract(name string) bool {
	n := t.FieldNames
	switch name {
	case n.ObservedGeneration, n.UpdatedAt, n.StartedAt, n.FinishedAt, n.Conditions:
		return true
	}
	return false
}

// changed returns the fields of the status that set changes, without those that
// Commit computes. A field that set removes is nil.
func (t *trial[T]) changed(o T, set func(T)) map[string]any {
	t.Helper()
	was := t.fields(o)
	c := t.copyOf(o)
	set(c)
	is := t.fields(c)
	fields := map[string]any{}
	for name := range was {
		if is[name] == nil {
			fields[name] = nil
		}
	}
	for name, value := range is {
		if !t.isOfContract(name) && !reflect.DeepEqual(value, was[name]) {
			fields[name] = value
		}
	}
	return fields
}

// requireStored reports each of the fields that the object does not have.
func (t *trial[T]) requireStored(o T, want map[string]any) {
	t.Helper()
	got := t.fields(o)
	for name, value := range want {
		if !covers(got[name], value) {
			t.breach("status.%s was set to %v, and the API server stores %v", name, value, got[name])
		}
	}
}

// requireSame reports a difference of the stored status from was.
func (t *trial[T]) requireSame(o, was T) {
	t.Helper()
	is := t.read(o)
	if !reflect.DeepEqual(t.fields(is), t.fields(was)) {
		t.breach("the status changed from %s to %s", t.text(was), t.text(is))
	}
}

// covers reports whether stored is sent, or sent with defaults of the schema.
func covers(stored, sent any) bool {
	switch sent := sent.(type) {
	case nil:
		return true
	case map[string]any:
		fields, ok := stored.(map[string]any)
		for name := range sent {
			ok = ok && covers(fields[name], sent[name])
		}
		return ok
	case []any:
		list, ok := stored.([]any)
		ok = ok && len(list) == len(sent)
		for i := range sent {
			ok = ok && covers(list[i], sent[i])
		}
		return ok
	}
	return reflect.DeepEqual(stored, sent)
}
