// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionFields are the JSON names of the fields of a metav1.Condition.
func conditionFields() [6]string {
	return [...]string{"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"}
}

// form says which fields of a metav1.Condition the conditions of a kind have.
// The CRD of a kind with other conditions prunes the rest.
type form struct {
	typed    bool     // the items have a Go type
	isNative bool     // the items are of type metav1.Condition
	fields   []string // of the Go type; without one, what a new condition may get
}

// formOf finds the form of a list that is a field of a typed status, or part of
// an unstructured one.
func formOf(field any) *form {
	item := itemType(field)
	if item == nil {
		// Nothing says which fields the CRD has. A metav1.Condition requires the
		// time, and kubectl wait expects the generation.
		return &form{fields: []string{"lastTransitionTime", "observedGeneration"}}
	}
	f := &form{typed: true, isNative: item == reflect.TypeFor[metav1.Condition]()}
	if reflect.PointerTo(item).Implements(reflect.TypeFor[json.Marshaler]()) {
		return f // its fields do not show what it encodes
	}
	for _, name := range conditionFields() {
		found, _ := find(reflect.New(item).Elem(), name, 0)
		if found.IsValid() {
			f.fields = append(f.fields, name)
		}
	}
	return f
}

// itemType returns the struct type of the items of field, which is a pointer to
// a list. It is nil if the items are not structs.
func itemType(field any) reflect.Type {
	list := reflect.TypeOf(field)
	if list == nil || list.Kind() != reflect.Pointer || list.Elem().Kind() != reflect.Slice {
		return nil
	}
	item := list.Elem().Elem()
	if item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	if item.Kind() != reflect.Struct {
		return nil
	}
	return item
}

// hasField reports whether e may be written with the field, in place of stored,
// which is nil for a new condition.
func (e entry) hasField(name string, stored *entry) bool {
	if e.item == nil {
		return true // a metav1.Condition
	}
	if hasKey(e.item, name) {
		return true
	}
	if stored != nil && hasKey(stored.item, name) {
		return true
	}
	isUnknown := stored == nil || e.form.typed
	return isUnknown && slices.Contains(e.form.fields, name)
}

func hasKey(item any, name string) bool {
	fields, _ := item.(map[string]any)
	_, ok := fields[name]
	return ok
}

// limit returns c, which is to be written for e, without the fields that the
// kind's conditions do not have. A reason that the caller left empty stays
// empty, except in a metav1.Condition, which requires one.
func (e entry) limit(c metav1.Condition, stored *entry) metav1.Condition {
	if e.item == nil {
		return c
	}
	needsReason := e.form.isNative || !e.form.typed && hasKey(e.item, "reason")
	if e.Reason == "" && !needsReason {
		c.Reason = ""
	}
	if !e.hasField("reason", stored) {
		c.Reason = ""
	}
	if !e.hasField("message", stored) {
		c.Message = ""
	}
	if !e.hasField("lastTransitionTime", stored) {
		c.LastTransitionTime = metav1.Time{}
	}
	if !e.hasField("observedGeneration", stored) {
		c.ObservedGeneration = 0
	}
	return c
}
