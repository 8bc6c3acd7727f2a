// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The JSON names of the fields of a metav1.Condition.
const (
	typeField       = "type"
	statusField     = "status"
	reasonField     = "reason"
	messageField    = "message"
	transitionField = "lastTransitionTime"
	generationField = "observedGeneration"
)

func allConditionFields() []string {
	return []string{typeField, statusField, reasonField, messageField, transitionField, generationField}
}

// conditionFields says which fields of a metav1.Condition the conditions of a
// kind have. The CRD of a kind with other conditions prunes the rest.
type conditionFields struct {
	isTyped  bool     // the items have a Go type
	isNative bool     // the items are of type metav1.Condition
	names    []string // of the Go type; without one, what a new condition may get
}

// conditionFieldsOf finds the fields of a list, which is a field of a typed
// status, or a part of an unstructured one.
func conditionFieldsOf(list any) *conditionFields {
	item := itemType(list)
	if item == nil {
		// Nothing says which fields the CRD has. A metav1.Condition requires the
		// time, and kubectl wait expects the generation.
		return &conditionFields{names: []string{transitionField, generationField}}
	}
	if item == reflect.TypeFor[metav1.Condition]() {
		return &conditionFields{isTyped: true, isNative: true, names: allConditionFields()}
	}
	fields := &conditionFields{isTyped: true}
	if reflect.PointerTo(item).Implements(reflect.TypeFor[json.Marshaler]()) {
		return fields // its fields do not show what it encodes
	}
	for _, name := range allConditionFields() {
		found, _ := find(reflect.New(item).Elem(), name, 0)
		if found.IsValid() {
			fields.names = append(fields.names, name)
		}
	}
	return fields
}

// itemType returns the struct type of the items of a pointer to a list. It is
// nil if the items are not structs.
func itemType(list any) reflect.Type {
	t := reflect.TypeOf(list)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Slice {
		return nil
	}
	item := t.Elem().Elem()
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
func (e *condition) hasField(name string, stored *condition) bool {
	if e.hasKey(name) {
		return true
	}
	if stored != nil && stored.hasKey(name) {
		return true
	}
	isUnknown := stored == nil || e.of.isTyped
	return isUnknown && slices.Contains(e.of.names, name)
}

// hasKey reports whether e is encoded with the field.
func (e *condition) hasKey(name string) bool {
	_, ok := e.fields[name]
	return ok
}

// limit returns c, which is to be written for e, without the fields that the
// kind's conditions do not have. A reason that the caller left empty stays
// empty, except in a metav1.Condition, which requires one.
func (e *condition) limit(c metav1.Condition, stored *condition) metav1.Condition {
	if e.of.isNative {
		return c
	}
	isCleared := e.Reason == ""
	needsReason := !e.of.isTyped && e.hasKey(reasonField)
	if isCleared && !needsReason {
		c.Reason = ""
	}
	if !e.hasField(reasonField, stored) {
		c.Reason = ""
	}
	if !e.hasField(messageField, stored) {
		c.Message = ""
	}
	if !e.hasField(transitionField, stored) {
		c.LastTransitionTime = metav1.Time{}
	}
	if !e.hasField(generationField, stored) {
		c.ObservedGeneration = 0
	}
	return c
}
