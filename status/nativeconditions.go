// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nativeConditions are the conditions of a typed status that declares them as a
// list of metav1.Condition. They need not be encoded and decoded.
func (d *document) nativeConditions(listName string) []metav1.Condition {
	if listName == absent || !d.isTyped() {
		return nil
	}
	if d.typed.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil // its fields do not show what it encodes
	}
	field, depth := find(d.typed.Elem(), listName, 0)
	if !field.IsValid() || depth > 0 {
		return nil // an embedded pointer would be shared by a copy
	}
	list, _ := reflect.TypeAssert[[]metav1.Condition](field)
	return list
}

// without is a copy of d whose typed status does not have the field.
func (d *document) without(name string) *document {
	status := reflect.New(d.typed.Type().Elem())
	status.Elem().Set(d.typed.Elem())
	field, _ := find(status.Elem(), name, 0)
	field.SetZero()
	return &document{object: d.object, typed: status}
}

// nativeConditionsOf is conditionsOf for a list that has its Go type.
func nativeConditionsOf(items []metav1.Condition) []condition {
	list := make([]condition, len(items))
	for i, item := range items {
		list[i] = nativeConditionOf(item)
	}
	join(list, conditionFieldsOf(&items))
	return list
}

// nativeConditionOf is conditionOf for an element that has its Go type.
func nativeConditionOf(c metav1.Condition) condition {
	required := map[string]any{typeField: "", statusField: "", reasonField: "", messageField: ""}
	c.LastTransitionTime = wholeSecond(c.LastTransitionTime.Time)
	e := condition{fields: required, key: c.Type}
	return e.with(c)
}
