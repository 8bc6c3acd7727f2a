// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/proompteng/controllerkit/internal/isnil"
)

// Object is any API object: an *unstructured.Unstructured, or a pointer to a
// struct with a field of JSON name status. It is the method set of
// controller-runtime's client.Object.
//
// In a unit test, give an object what an API server would: uid, generation and
// resourceVersion. The resourceVersion is required only where there is
// something to write.
type Object interface {
	metav1.Object
	runtime.Object
}

// nameOf is how an error names o: by the namespace, if it has one, and the
// name.
func nameOf(o Object) string { return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/") }

// refusePair refuses two objects that are not versions of one.
func refusePair(before, after Object) error {
	switch {
	case isnil.Is(before):
		return errors.New("status: before is nil; want the object as read")
	case isnil.Is(after):
		return errors.New("status: after is nil; want a changed copy of before")
	}
	isOneObject := nameOf(before) == nameOf(after) && before.GetUID() == after.GetUID()
	switch {
	case reflect.TypeOf(before) != reflect.TypeOf(after):
		return fmt.Errorf("status: before is a %T and after a %T; want one type", before, after)
	case !isOneObject:
		return errors.New("status: before and after differ in metadata.namespace, name or uid; " +
			"want a DeepCopy of one object")
	case sharesMemory(before, after):
		return errShared
	}
	was, err := valueOf(before)
	if err != nil {
		return err
	}
	is, err := valueOf(after)
	if err != nil {
		return err
	}
	if is.Kind() == reflect.Pointer && is.IsNil() {
		return fmt.Errorf("status: the status of %T is nil; set it to a struct", after)
	}
	if sharesMemory(was.Interface(), is.Interface()) {
		return errShared
	}
	return nil
}

var errShared = errors.New("status: before and after share one status; change a DeepCopy of before")

// sharesMemory reports whether a change of one of two maps or pointers changes
// the other.
func sharesMemory(a, b any) bool {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Map && v.Kind() != reflect.Pointer {
		return false
	}
	return !v.IsNil() && v.Pointer() == reflect.ValueOf(b).Pointer()
}

// valueOf returns the status of o as Go has it: a field of a struct, or in an
// unstructured object a map, which is nil for no status.
func valueOf(o Object) (reflect.Value, error) {
	u, isUntyped := o.(runtime.Unstructured)
	if isUntyped {
		status := u.UnstructuredContent()["status"]
		fields, isObject := status.(map[string]any)
		if !isObject && status != nil {
			return reflect.Value{}, fmt.Errorf("status: the status: want an object, got %T", status)
		}
		return reflect.ValueOf(fields), nil
	}
	v := reflect.Indirect(reflect.ValueOf(o))
	if v.Kind() == reflect.Struct && v.CanAddr() {
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "status" {
				return v.Field(i), nil
			}
		}
	}
	return reflect.Value{}, fmt.Errorf("status: %T has no status; "+
		"want a pointer to a struct that has a field with the tag json:\"status\"", o)
}

// statusOf returns the status of o as the API server stores it. It shares
// nothing with o.
func statusOf(o Object) (map[string]any, error) {
	v, err := valueOf(o)
	if err != nil {
		return nil, err
	}
	return encoded(v.Interface())
}

// encoded returns the JSON object of v without null fields, and with an int64
// for each whole number.
func encoded(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	fields := map[string]any{}
	if err == nil {
		err = utiljson.Unmarshal(raw, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("status: the status: want an object: %w", err)
	}
	if fields == nil {
		return map[string]any{}, nil
	}
	canonical(fields)
	return fields, nil
}

// canonical changes v to the form in which a client reads it from the API
// server.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = canonical(field)
			if v[name] == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case float64:
		isWhole := v == math.Trunc(v)
		if isWhole && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	}
	return v
}

// setStatus makes fields the status of o, in memory that nothing else uses.
func setStatus(o Object, fields map[string]any) error {
	u, isUntyped := o.(runtime.Unstructured)
	if isUntyped {
		_, has := u.UnstructuredContent()["status"]
		if has || len(fields) > 0 {
			u.UnstructuredContent()["status"] = runtime.DeepCopyJSON(fields)
		}
		return nil
	}
	v, err := valueOf(o)
	if err != nil {
		return err
	}
	fresh := reflect.New(v.Type())
	raw, _ := json.Marshal(fields) // of JSON values
	err = utiljson.Unmarshal(raw, fresh.Interface())
	if err != nil {
		return fmt.Errorf("status: the status: %w", err)
	}
	v.Set(fresh.Elem())
	return nil
}

// mergePatch returns the JSON merge patch (RFC 7386) that makes before into
// after. It repeats equal fields that are zero: a schema may require them, and
// a typed object does not show whether they are stored.
func mergePatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range after {
		from, _ := before[name].(map[string]any)
		to, isObject := value.(map[string]any)
		switch {
		case isObject:
			inner := mergePatch(from, to)
			if len(inner) > 0 || len(to) == 0 {
				patch[name] = inner
			}
		case isZero(value), !equal(before[name], value):
			patch[name] = value
		}
	}
	for name := range before {
		_, has := after[name]
		if !has {
			patch[name] = nil
		}
	}
	return patch
}

func isZero(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, field := range v {
			if !isZero(field) {
				return false
			}
		}
		return true
	}
	return v == nil || v == false || v == "" || v == int64(0)
}

// covers reports whether stored has all of sent. It may have more fields, also
// in the elements of a list, but not more elements.
func covers(stored, sent any) bool {
	switch sent := sent.(type) {
	case map[string]any:
		fields, isObject := stored.(map[string]any)
		for name, v := range sent {
			if !covers(fields[name], v) {
				return false
			}
		}
		return isObject
	case []any:
		items, _ := stored.([]any)
		if len(items) != len(sent) {
			return false
		}
		for i := range sent {
			if !covers(items[i], sent[i]) {
				return false
			}
		}
		return true
	}
	return stored == sent
}

// equal compares two encoded values.
func equal(a, b any) bool { return covers(a, b) && covers(b, a) }
