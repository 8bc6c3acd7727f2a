// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
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

// document gives access to the status of one object, typed or unstructured.
type document struct {
	object Object

	// Of a typed object: the field, and a pointer to its struct. A nil pointer
	// counts as an empty status.
	slot, typed reflect.Value
	// Of an unstructured object.
	root, status map[string]any
}

// refusePair refuses two objects that are not versions of one.
func refusePair(before, after *document) error {
	b := before.object
	a := after.object
	isOneObject := nameOf(b) == nameOf(a) && b.GetUID() == a.GetUID()
	switch {
	case reflect.TypeOf(b) != reflect.TypeOf(a):
		return fmt.Errorf("status: before is a %T and after a %T; want one type", b, a)
	case !isOneObject:
		return errors.New("status: before and after differ in metadata.namespace, name or uid; " +
			"want a DeepCopy of one object")
	case after.isNil():
		return fmt.Errorf("status: the status of %T is nil; set it to a struct", a)
	case before.shares(after):
		return errors.New("status: before and after share one status; change a DeepCopy of before")
	}
	return nil
}

// open finds the status of o.
func open(role string, o Object) (*document, error) {
	if isnil.Is(o) {
		return nil, fmt.Errorf("status: %s is nil; want the object as read, or its copy", role)
	}
	v := reflect.Indirect(reflect.ValueOf(o))
	if !v.CanAddr() {
		return nil, fmt.Errorf("status: %T is neither a pointer to a struct nor unstructured", o)
	}
	u, isUntyped := o.(runtime.Unstructured)
	if isUntyped {
		return openUntyped(o, u.UnstructuredContent())
	}
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("status: %T is neither a pointer to a struct nor unstructured", o)
	}
	return openTyped(o, v)
}

func openUntyped(o Object, root map[string]any) (*document, error) {
	status, isObject := root["status"].(map[string]any)
	if !isObject && root["status"] != nil {
		return nil, fmt.Errorf("status: the status: want an object, got %T", root["status"])
	}
	return &document{object: o, root: root, status: status}, nil
}

func openTyped(o Object, v reflect.Value) (*document, error) {
	d := &document{object: o}
	d.slot, _ = find(v, "status", 0)
	if !d.slot.IsValid() {
		return nil, fmt.Errorf("status: %T has no status; "+
			"want a struct field with the tag json:\"status\"", o)
	}
	switch {
	case d.isNil():
		d.typed = reflect.New(d.slot.Type().Elem())
	case d.slot.Kind() == reflect.Pointer:
		d.typed = d.slot
	default:
		d.typed = d.slot.Addr()
	}
	if d.typed.Type().Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("status: the status of %T is a %s; want a struct or a pointer to one",
			o, d.slot.Type())
	}
	return d, nil
}

// isTyped reports whether the object is a struct.
func (d *document) isTyped() bool { return d.typed.IsValid() }

// isNil reports whether the status is a nil pointer.
func (d *document) isNil() bool { return d.slot.Kind() == reflect.Pointer && d.slot.IsNil() }

// shares reports whether a change of one status would change the other.
func (d *document) shares(other *document) bool {
	if d.isTyped() {
		return d.typed.Pointer() == other.typed.Pointer()
	}
	if sameMap(d.root, other.root) {
		return true
	}
	return d.status != nil && sameMap(d.status, other.status)
}

func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// isEmpty reports whether the object has no status.
func (d *document) isEmpty() bool {
	if d.isTyped() {
		return d.typed.Elem().IsZero()
	}
	return len(d.status) == 0
}

// isSame reports whether two statuses are certainly equal. False means: compare
// their contents.
func (d *document) isSame(other *document) bool {
	return reflect.DeepEqual(d.value(), other.value())
}

// value is the status as Go has it.
func (d *document) value() any {
	if d.isTyped() {
		return d.typed.Interface()
	}
	return d.status
}

// set makes tree the status. It does not write to memory that the status has
// had so far, because another object may share it.
func (d *document) set(tree map[string]any) error {
	if !d.isTyped() {
		_, has := d.root["status"]
		if has || len(tree) > 0 {
			d.root["status"] = decode(encode(tree))
		}
		return nil
	}
	fresh := reflect.New(d.typed.Type().Elem())
	err := utiljson.Unmarshal(encode(tree), fresh.Interface())
	if err != nil {
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
	u, isUntyped := d.object.(runtime.Unstructured)
	if isUntyped {
		u.SetUnstructuredContent(stored.root)
	} else {
		reflect.ValueOf(d.object).Elem().Set(reflect.ValueOf(stored.object).Elem())
	}
	if d.object.GetObjectKind().GroupVersionKind().Empty() { // a typed client leaves it out
		d.object.GetObjectKind().SetGroupVersionKind(kind)
	}
}
