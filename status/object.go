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
//
// In an unstructured object times are strings of RFC 3339, numbers int64, and conditions a []any of map[string]any, as from a client.
// In a unit test give an object what an API server would: uid, generation and resourceVersion. The fake of client-go's dynamic client
// takes a patch with a resourceVersion that is stale: it can show no conflict.
type Object interface {
	metav1.Object
	runtime.Object
}

// open finds the status of both objects, and refuses pairs that no patch can be made of.
func open(before, after Object) (old, cur *document, err error) {
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
	if reflect.ValueOf(old.self).Pointer() == reflect.ValueOf(cur.self).Pointer() {
		return nil, nil, errors.New("status: before and after share one status; change a DeepCopy of what was read")
	}
	return old, cur, nil
}

// isNil also finds a nil pointer in an interface, whose methods would panic.
func isNil(o any) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
