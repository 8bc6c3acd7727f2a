// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The JSON names of a condition's fields that Commit may add.
const (
	transitionField = "lastTransitionTime"
	generationField = "observedGeneration"
)

// otherList is the remedy for a list whose items are not conditions.
const otherList = `, or for a list of another kind FieldNames.Conditions "-"`

// listOf returns the conditions of a status, and each by its key: the type,
// with a number for the second of a type.
func (n FieldNames) listOf(status map[string]any) (keys []string, byKey map[string]any) {
	list, _ := status[n.Conditions].([]any)
	count := map[string]int{}
	byKey = make(map[string]any, len(list))
	for _, item := range list {
		key := typeOf(item)
		count[key]++
		if count[key] > 1 {
			key += "\x00" + strconv.Itoa(count[key])
		}
		keys = append(keys, key)
		byKey[key] = item
	}
	return keys, byKey
}

func typeOf(item any) string {
	fields, _ := item.(map[string]any)
	typ, _ := fields["type"].(string)
	return typ
}

// setConditions makes the conditions of want the ones to store. It does not
// check unchanged conditions, so that a mistake of another program blocks
// nothing. The stored order stays: building the list in another order is not a
// change.
func (c *change) setConditions(redact func(string) string) error {
	name := c.names.Conditions
	value, has := c.want[name]
	_, isList := value.([]any)
	_, isStored := c.stored[name]
	switch {
	case name == absent, !has && !isStored:
		return nil
	case !has:
		c.want[name] = []any{} // the schema may require the list
		return nil
	case equal(value, c.stored[name]):
		return nil
	case !isList:
		return fmt.Errorf("status: status.%s: want a list of conditions%s", name, otherList)
	}
	oldKeys, old := c.names.listOf(c.stored)
	newKeys, next := c.names.listOf(c.want)
	err := c.fitConditions(newKeys, next, old, redact)
	if err != nil {
		return err
	}
	list := []any{}
	for _, key := range slices.Concat(oldKeys, newKeys) {
		item, isLeft := next[key]
		if isLeft {
			list = append(list, item)
			delete(next, key)
		}
	}
	c.want[name] = list
	return nil
}

// fitConditions replaces the conditions in next that differ from the stored
// ones by those to store.
func (c *change) fitConditions(keys []string, next, stored map[string]any, redact func(string) string) error {
	for i, key := range keys {
		old, isStored := stored[key]
		if isStored && equal(next[key], old) {
			continue
		}
		typ := typeOf(next[key])
		if key != typ {
			return fmt.Errorf("status: status.%s[%d].type: %q is in the list twice; want each type once%s",
				c.names.Conditions, i, typ, otherList)
		}
		item, err := c.conditionToStore(next[key], old, redact)
		if err != nil {
			return fmt.Errorf("status: status.%s[%d]%w", c.names.Conditions, i, err)
		}
		next[key] = item
	}
	return nil
}

// conditionToStore returns what to store for item in place of stored, which is
// nil for a new one.
func (c *change) conditionToStore(item, stored any, redact func(string) string) (map[string]any, error) {
	fields, isObject := item.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf(": want an object%s", otherList)
	}
	cond, err := conditionOf(fields)
	if err != nil {
		return nil, err
	}
	err = checkCondition(cond)
	if err != nil {
		return nil, err
	}
	if redact != nil {
		cond.Message = redact(cond.Message)
	}
	old, _ := stored.(map[string]any)
	was, _ := conditionOf(old) // a mistake of another program counts as no condition
	was.Reason = fitReason(was.Reason)
	was.ObservedGeneration = min(was.ObservedGeneration, c.generation) // a backup may have a greater one
	next := updated(was, cond, c.now)
	isSame := sameTexts(next, was)
	if isSame {
		next.LastTransitionTime = was.LastTransitionTime // none if the CRD does not have the field
	}
	staysWithout := isSame && old[generationField] == nil
	if next.ObservedGeneration == 0 && !staysWithout {
		next.ObservedGeneration = c.generation
	}
	return c.withCondition(fields, old, next), nil
}

// withCondition returns item with the values of next. An unchanged time keeps
// its stored form. A field that neither item nor stored has is only added where
// the Go type has it. An unstructured condition has no type: a new one gets it.
func (c *change) withCondition(item, stored map[string]any, next metav1.Condition) map[string]any {
	out := maps.Clone(item)
	_, has := item["reason"]
	if has {
		out["reason"] = next.Reason
	}
	_, has = item["message"]
	if has {
		out["message"] = next.Message
	}
	delete(out, transitionField)
	values := map[string]any{}
	if !next.LastTransitionTime.IsZero() {
		values[transitionField] = next.LastTransitionTime.ToUnstructured()
	}
	since, err := timeOf(stored[transitionField])
	if err == nil && sameSecond(&since, &next.LastTransitionTime) {
		values[transitionField] = stored[transitionField]
	}
	if next.ObservedGeneration != 0 {
		values[generationField] = next.ObservedGeneration
	}
	_, isUntyped := c.base.(runtime.Unstructured)
	for field, value := range values {
		_, has := item[field]
		_, isStored := stored[field]
		switch {
		case has, isStored:
		case isUntyped && stored == nil:
			c.added = append(c.added, addedField{out, field})
		case isUntyped, !accepts(c.base, map[string]any{
			c.names.Conditions: []any{map[string]any{field: value}},
		}):
			continue
		}
		out[field] = value
	}
	return out
}

// conditionOf reads a condition. The error begins with the field.
func conditionOf(fields map[string]any) (metav1.Condition, error) {
	var c metav1.Condition
	texts := []struct {
		name string
		to   *string
	}{
		{"type", &c.Type},
		{"status", (*string)(&c.Status)},
		{"reason", &c.Reason},
		{"message", &c.Message},
	}
	for _, t := range texts {
		value, has := fields[t.name]
		text, isText := value.(string)
		if has && !isText {
			return metav1.Condition{}, fmt.Errorf(".%s: want a string, got %T%s", t.name, value, otherList)
		}
		*t.to = text
	}
	generation, has := fields[generationField]
	number, isWhole := generation.(int64)
	if has && !isWhole {
		return metav1.Condition{}, fmt.Errorf(".%s: want a whole number, got %T%s",
			generationField, generation, otherList)
	}
	c.ObservedGeneration = number
	since, has := fields[transitionField]
	if !has {
		return c, nil
	}
	var err error
	c.LastTransitionTime, err = timeOf(since)
	if err != nil {
		return metav1.Condition{}, fmt.Errorf(".%s%w%s", transitionField, err, otherList)
	}
	return c, nil
}

// mergeConditions gives want the conditions of live, with the changes of this
// reconcile. A difference of live from stored is a conflict in a condition that
// this controller owns or sets.
func (c *change) mergeConditions(live map[string]any, owned []string) error {
	oldKeys, old := c.names.listOf(c.stored)
	wantKeys, want := c.names.listOf(c.want)
	liveKeys, is := c.names.listOf(live)
	seen := map[string]bool{}
	list := []any{}
	for _, key := range slices.Concat(liveKeys, wantKeys, oldKeys) {
		if seen[key] {
			continue
		}
		seen[key] = true
		typ, _, _ := strings.Cut(key, "\x00")
		isOwned := len(owned) == 0 || slices.Contains(owned, typ)
		item, isConflict := pick(old[key], want[key], is[key], isOwned)
		if isConflict {
			return fmt.Errorf("%w: %s: status.%s %s",
				ErrFieldConflict, nameOf(c.base), c.names.Conditions, typ)
		}
		if item != nil {
			list = append(list, item)
		}
	}
	_, isWanted := c.want[c.names.Conditions]
	_, isStored := live[c.names.Conditions]
	if isWanted || isStored {
		c.want[c.names.Conditions] = list
	}
	return nil
}

// pick returns the condition to store; nil for none. It is a conflict if
// another client changed a condition that this controller owns or changes.
func pick(before, after, live any, isOwned bool) (item any, isConflict bool) {
	isChanged := !equal(before, after)
	isForeign := !equal(before, live)
	switch {
	case isForeign && (isChanged || isOwned):
		return nil, true
	case isChanged:
		return after, false
	}
	return live, false
}
