// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Object is any API object: an *unstructured.Unstructured, or a pointer to a
// struct with a field of JSON name status that is a struct or a pointer to one.
// It is the method set of controller-runtime's client.Object.
//
// In a unit test, give an object what an API server would: uid, generation and
// resourceVersion. The resourceVersion is required only where there is
// something to write.
type Object interface {
	metav1.Object
	runtime.Object
}

// document is the status of one object. Typed and unstructured objects are
// compared and written by the same tree.
type document struct {
	object Object
	stamp  Stamp
	tree   map[string]any

	// Of a typed object: the field, and a pointer to its struct. A nil pointer
	// counts as an empty status.
	slot, typed reflect.Value
	// Of an unstructured object.
	content, status map[string]any
}

// openPair finds the status of both objects. It refuses two objects that are
// not versions of one.
func openPair(before, after Object) (b, a *document, err error) {
	if b, err = open("before", before); err != nil {
		return nil, nil, err
	}
	if a, err = open("after", after); err != nil {
		return nil, nil, err
	}
	switch {
	case reflect.TypeOf(before) != reflect.TypeOf(after):
		err = fmt.Errorf("status: before is a %T and after a %T; want one type", before, after)
	case before.GetNamespace() != after.GetNamespace() || before.GetName() != after.GetName() || before.GetUID() != after.GetUID():
		err = errors.New("status: before and after differ in metadata.namespace, name or uid; want a DeepCopy of one object")
	case a.slot.Kind() == reflect.Pointer && a.slot.IsNil():
		err = fmt.Errorf("status: the status of %T is nil; set it to a struct", after)
	case b.shares(a):
		err = errors.New("status: before and after share one status; change a DeepCopy of before")
	}
	return b, a, err
}

// open finds the status of o.
func open(role string, o Object) (*document, error) {
	if isnil.Is(o) {
		return nil, fmt.Errorf("status: %s is nil; want the object as read, or its copy", role)
	}
	v := reflect.Indirect(reflect.ValueOf(o))
	if u, ok := o.(runtime.Unstructured); ok && v.CanAddr() {
		d := &document{object: o, content: u.UnstructuredContent()}
		if d.status, ok = d.content["status"].(map[string]any); !ok && d.content["status"] != nil {
			return nil, fmt.Errorf("status: the status: want an object, got %T", d.content["status"])
		}
		return d, nil
	}
	if !v.CanAddr() || v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("status: %T is neither a pointer to a struct nor unstructured", o)
	}
	d := &document{object: o}
	switch d.slot, _ = find(v, "status", 0); {
	case !d.slot.IsValid():
		return nil, fmt.Errorf("status: %T has no status; want a struct field with the tag json:\"status\"", o)
	case d.slot.Kind() == reflect.Pointer && d.slot.IsNil():
		d.typed = reflect.New(d.slot.Type().Elem())
	case d.slot.Kind() == reflect.Pointer:
		d.typed = d.slot
	default:
		d.typed = d.slot.Addr()
	}
	if d.typed.Type().Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("status: the status of %T is a %s; want a struct or a pointer to one", o, d.slot.Type())
	}
	return d, nil
}

// shares reports whether a change of one status would change the other.
func (d *document) shares(other *document) bool {
	if d.typed.IsValid() {
		return d.typed.Pointer() == other.typed.Pointer()
	}
	same := func(a, b map[string]any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
	return same(d.content, other.content) || d.status != nil && same(d.status, other.status)
}

// isEmpty reports whether the object has no status.
func (d *document) isEmpty() bool {
	if d.typed.IsValid() {
		return d.typed.Elem().IsZero()
	}
	return len(d.status) == 0
}

// same reports whether two statuses are certainly equal. False means: compare
// the trees.
func (d *document) same(other *document) bool {
	if d.typed.IsValid() {
		return reflect.DeepEqual(d.typed.Interface(), other.typed.Interface())
	}
	return sameTree(d.status, other.status, 0)
}

// readTree reads the status as the API server would store it. Its fields stay
// encoded, because most of them are only compared. The conditions are a list of
// entries.
func (d *document) readTree(conditions string) error {
	fields := map[string]json.RawMessage{}
	for name, v := range d.status {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("status: status.%s: %w", name, err)
		}
		fields[name] = raw
	}
	if d.typed.IsValid() {
		raw, err := json.Marshal(d.typed.Interface())
		if err == nil {
			err = utiljson.Unmarshal(raw, &fields)
		}
		if err != nil {
			return fmt.Errorf("status: the status: want an object: %w", err)
		}
	}
	d.tree = make(map[string]any, len(fields))
	for name, raw := range fields {
		if string(raw) != "null" {
			d.tree[name] = raw
		}
	}
	if conditions == absent {
		return nil
	}
	list, err := entriesOf(d.field(conditions), d.tree[conditions])
	if err != nil {
		return fmt.Errorf("status: status.%s: %w", conditions, err)
	}
	_, has := fields[conditions]
	if has && d.typed.IsValid() {
		d.tree[conditions] = list // without omitempty, a nil list is null
	}
	put(d.tree, conditions, list)
	return nil
}

// set makes tree the status. It does not write to memory that the status has
// had so far, because another object may share it.
func (d *document) set(tree map[string]any) error {
	if !d.typed.IsValid() {
		if _, stored := d.content["status"]; stored || len(tree) > 0 {
			d.content["status"] = decode(encode(tree))
		}
		return nil
	}
	fresh := reflect.New(d.typed.Type().Elem())
	if err := utiljson.Unmarshal(encode(tree), fresh.Interface()); err != nil {
		return fmt.Errorf("status: the status: %w", err)
	}
	if d.slot.Kind() == reflect.Pointer {
		d.slot.Set(fresh)
	} else {
		d.slot.Set(fresh.Elem())
	}
	return nil
}

// setObject makes the object equal to stored.
func (d *document) setObject(stored *document) {
	kind := d.object.GetObjectKind().GroupVersionKind()
	if u, ok := d.object.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(stored.content)
	} else {
		reflect.ValueOf(d.object).Elem().Set(reflect.ValueOf(stored.object).Elem())
	}
	if d.object.GetObjectKind().GroupVersionKind().Empty() { // a typed client leaves it out
		d.object.GetObjectKind().SetGroupVersionKind(kind)
	}
}
