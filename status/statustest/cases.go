// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/status"
)

// The cases of one writer.

func (t *trial[T]) firstWrite() {
	o := t.create()
	_, result, err := t.commit(o, t.nth(1), running())
	if err != nil || result != status.Written {
		t.breach("Commit returned %q and the error %v; want %q", result, err, status.Written)
		return
	}
	stored := t.read(o)
	t.requireStored(stored, t.changed(o, t.nth(1)))
	s := t.stamp(stored)
	if t.FieldNames.ObservedGeneration != absent && s.ObservedGeneration != o.GetGeneration() {
		t.breach("status.%s is %d; want the generation %d",
			t.FieldNames.ObservedGeneration, s.ObservedGeneration, o.GetGeneration())
	}
	if t.FieldNames.UpdatedAt != absent && s.UpdatedAt.IsZero() {
		t.breach("status.%s is not set", t.FieldNames.UpdatedAt)
	}
	if t.FieldNames.StartedAt != absent && s.StartedAt.IsZero() {
		t.breach("status.%s of a Running object is not set", t.FieldNames.StartedAt)
	}
	if !s.FinishedAt.IsZero() {
		t.breach("status.%s of a Running object is set", t.FieldNames.FinishedAt)
	}
}

func (t *trial[T]) idle() {
	o := t.create()
	t.reconcile(o, 1)
	updated := t.stamp(t.read(o)).UpdatedAt
	if !updated.IsZero() { // as if time had passed
		earlier := updated.Add(-5 * time.Second).UTC().Format(time.RFC3339)
		t.patchStatus(o, map[string]any{t.FieldNames.UpdatedAt: earlier})
	}
	t.requireIdle(o, t.nth(1))
}

// requireIdle reports an error or a write of an equal reconcile.
func (t *trial[T]) requireIdle(o T, set func(T)) {
	t.Helper()
	before := t.read(o)
	for range 2 {
		_, result, err := t.commit(t.read(o), set, running())
		if err != nil {
			t.breach("Commit of the same status returned the error %v", err)
			return
		}
		stored := t.read(o)
		if stored.GetResourceVersion() != before.GetResourceVersion() {
			t.breach("Commit of the same status returned %q and changed the status from %s to %s",
				result, t.text(before), t.text(stored))
			return
		}
	}
}

func (t *trial[T]) keepsBefore() {
	o := t.create()
	t.reconcile(o, 1)
	before := t.read(o)
	was := string(t.text(before))
	after := t.copyOf(before)
	t.Set(after, 2)
	is := string(t.text(before))
	if is != was {
		t.breach("a change of the DeepCopy changed the original status from %s to %s: "+
			"the kind needs a DeepCopy that shares nothing", was, is)
		return
	}
	_, err := t.Writer.Commit(t.Context(), before, after, running())
	t.must(err, "Commit of an object that no other program writes")
	is = string(t.text(before))
	if is != was {
		t.breach("Commit changed before from %s to %s", was, is)
	}
}

func (t *trial[T]) fillsAfter() {
	o := t.create()
	after, _, err := t.commit(o, t.nth(1), running())
	t.must(err, "Commit of an object that no other program writes")
	stored := t.read(o)
	if after.GetResourceVersion() != stored.GetResourceVersion() {
		t.breach("after has the resourceVersion %s, and the stored object %s",
			after.GetResourceVersion(), stored.GetResourceVersion())
	}
	if !reflect.DeepEqual(t.fields(after), t.fields(stored)) {
		t.breach("after has the status %s, and the stored object %s", t.text(after), t.text(stored))
	}
}

func (t *trial[T]) newSpec() {
	o := t.create()
	t.reconcile(o, 1)
	before := t.read(o)
	t.changeSpec(before)
	_, _, err := t.commit(before, t.nth(2), running())
	if err != nil {
		t.breach("Commit of the older spec returned the error %v", err)
		return
	}
	got := t.stamp(t.read(o)).ObservedGeneration
	if got != before.GetGeneration() {
		t.breach("status.%s is %d; the reconcile read the generation %d",
			t.FieldNames.ObservedGeneration, got, before.GetGeneration())
	}
}

func (t *trial[T]) terminal() {
	o := t.create()
	noon := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	var last status.Stamp
	for i, f := range []status.Facts{
		{Progress: status.Running, StartedAt: noon},
		{Progress: status.Done, FinishedAt: noon.Add(time.Hour)},
		{Progress: status.Running, StartedAt: noon.Add(2 * time.Hour)},
		{Progress: status.Done, FinishedAt: noon.Add(3 * time.Hour)},
	} {
		_, _, err := t.commit(t.read(o), t.nth(i%3+1), f)
		t.must(err, "Commit of an object that no other program writes")
		stored := t.read(o)
		s := t.stamp(stored)
		t.requireKept(t.FieldNames.StartedAt, last.StartedAt, s.StartedAt, i+1)
		t.requireKept(t.FieldNames.FinishedAt, last.FinishedAt, s.FinishedAt, i+1)
		last = s
	}
	if t.FieldNames.FinishedAt != absent && last.FinishedAt.IsZero() {
		t.breach("status.%s of a Done object is not set", t.FieldNames.FinishedAt)
	}
}

// requireKept reports a time that a write has moved.
func (t *trial[T]) requireKept(name string, was, is *metav1.Time, write int) {
	t.Helper()
	if !was.IsZero() && show(was) != show(is) {
		t.breach("write %d moved status.%s from %s to %s", write, name, show(was), show(is))
	}
}
