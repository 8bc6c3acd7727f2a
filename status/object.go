// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any API object: a pointer to a struct that has a field of JSON name status, which is a struct or a pointer to
// one, or an *unstructured.Unstructured. It is the method set of controller-runtime's client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// document is the status of one object, whatever its Go type. Two documents that meet are always of one type.
type document interface {
	// names lists the fields that have a place (typed) or a value (loose), in order.
	names() []string
	// has reports whether there is a place for the field.
	has(name string) bool
	// at returns a pointer to the field of a struct, the value in a map, or nil where there is neither.
	at(name string) any
	// json returns the field as canonical JSON; nil where it is absent, null, or left out because it is empty.
	json(name string) ([]byte, error)
	// equal reports whether two statuses are certainly the same, and same whether a field is. False means: compare the JSON.
	equal(other document) bool
	same(other document, name string) bool
	// put sets one of the contract's fields to an int64 or a metav1.Time.
	put(name string, v any)
	// take makes the field what it is in other.
	take(name string, other document)
	// conditions reads the list of conditions, and setConditions writes it.
	conditions(name string) ([]entry, error)
	setConditions(name string, list []entry)
}

// open finds the status of both objects, and refuses pairs that no patch can be made of.
func open(before, after Object) (old, cur document, err error) {
	switch {
	case isNil(before):
		return nil, nil, errors.New("status: before is nil")
	case isNil(after):
		return nil, nil, errors.New("status: after is nil")
	case any(before) == any(after):
		return nil, nil, errors.New("status: before and after are one object; change a DeepCopy of what was read")
	case reflect.TypeOf(before) != reflect.TypeOf(after):
		return nil, nil, fmt.Errorf("status: before is a %T and after a %T; want one type", before, after)
	case before.GetNamespace() != after.GetNamespace() || before.GetName() != after.GetName() || before.GetUID() != after.GetUID():
		return nil, nil, errors.New("status: before and after differ in metadata.namespace, name or uid; want a DeepCopy of one object")
	}
	if old, err = read(before, "before"); err != nil {
		return nil, nil, err
	}
	if cur, err = read(after, "after"); err != nil {
		return nil, nil, err
	}
	if shared(old, cur) {
		return nil, nil, errors.New("status: before and after share one status; change a DeepCopy of what was read")
	}
	return old, cur, nil
}

// read finds the status of o, which errors call by its role.
func read(o Object, role string) (document, error) {
	if u, ok := any(o).(runtime.Unstructured); ok {
		return readLoose(u, role)
	}
	return readTyped(o, role)
}

func shared(a, b document) bool {
	switch a := a.(type) {
	case *typed:
		return a.self.Pointer() == b.(*typed).self.Pointer()
	case *loose:
		return reflect.ValueOf(a.fields).Pointer() == reflect.ValueOf(b.(*loose).fields).Pointer()
	}
	return false
}

// isNil also finds a nil pointer in an interface, whose methods would panic.
func isNil(o any) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
