// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

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
	case reflect.DeepEqual(value, c.stored[name]):
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
	name := c.names.Conditions
	var changed []string
	list := []any{}
	for i, key := range keys {
		old, isStored := stored[key]
		if isStored && reflect.DeepEqual(next[key], old) {
			continue
		}
		typ := typeOf(next[key])
		if key != typ && !isStored {
			return fmt.Errorf("status: status.%s[%d].type: %q is in the list twice; want each type once%s",
				name, i, typ, otherList)
		}
		item, err := c.conditionToStore(next[key], old, redact)
		if err != nil {
			return fmt.Errorf("status: status.%s[%d]%w", name, i, err)
		}
		c.noteAdded(key, next[key], item)
		changed = append(changed, key)
		list = append(list, item)
	}
	typed, err := throughType(c.base, map[string]any{name: list})
	if err != nil {
		return err
	}
	known, _ := typed[name].([]any)
	for i, item := range known {
		next[changed[i]] = item
	}
	return nil
}

// noteAdded remembers the fields that a condition of an unknown type got.
func (c *change) noteAdded(key string, before any, after map[string]any) {
	_, isUntyped := c.base.(runtime.Unstructured)
	fields, _ := before.(map[string]any)
	for _, name := range []string{transitionField, generationField} {
		_, had := fields[name]
		_, has := after[name]
		if isUntyped && has && !had {
			c.added[key+name] = true
		}
	}
}

// conditionToStore returns what to store for item in place of stored, which is
// nil for a new one.
func (c *change) conditionToStore(item, stored any, redact func(string) string) (map[string]any, error) {
	fields, isObject := item.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf(": want an object%s", otherList)
	}
	var cond, was metav1.Condition
	err := convert(fields, &cond)
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
	err = convert(stored, &was)
	if err != nil {
		was = metav1.Condition{} // a mistake of another program counts as no condition
	}
	if stored != nil {
		was.Reason = fitReason(was.Reason) // as that of cond is
	}
	was.ObservedGeneration = min(was.ObservedGeneration, c.generation) // a backup may have a greater one
	old, _ := stored.(map[string]any)
	next := updated(was, cond, c.now)
	isSame := sameTexts(next, was)
	if isSame && was.LastTransitionTime.IsZero() {
		next.LastTransitionTime = was.LastTransitionTime // the CRD may not have the field
	}
	staysWithout := isSame && old[generationField] == nil
	if next.ObservedGeneration == 0 && !staysWithout {
		next.ObservedGeneration = c.generation
	}
	return c.withCondition(fields, old, next), nil
}

// withCondition returns item with the values of next. An unchanged time keeps
// its stored form.
func (c *change) withCondition(item, stored map[string]any, next metav1.Condition) map[string]any {
	out := maps.Clone(item)
	for name, text := range map[string]string{"reason": next.Reason, "message": next.Message} {
		_, has := item[name]
		if has {
			out[name] = text
		}
	}
	delete(out, transitionField)
	delete(out, generationField)
	if !next.LastTransitionTime.IsZero() && c.mayHave(transitionField, item, stored) {
		out[transitionField] = next.LastTransitionTime.ToUnstructured()
	}
	text, _ := stored[transitionField].(string)
	since, err := time.Parse(time.RFC3339, text)
	if err == nil && since.Unix() == next.LastTransitionTime.Unix() {
		out[transitionField] = text
	}
	if next.ObservedGeneration != 0 && c.mayHave(generationField, item, stored) {
		out[generationField] = next.ObservedGeneration
	}
	return out
}

// mayHave reports whether a condition may be written with the field. Nothing
// says which fields the conditions of an unstructured status have.
func (c *change) mayHave(field string, item, stored map[string]any) bool {
	_, isUntyped := c.base.(runtime.Unstructured)
	_, has := item[field]
	_, isStored := stored[field]
	return !isUntyped || has || isStored || stored == nil
}

// convert reads a condition. The error begins with the field.
func convert(item any, to *metav1.Condition) error {
	raw, err := json.Marshal(item)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	var wrong *json.UnmarshalTypeError
	var noTime *time.ParseError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf(".%s: want a %s, got a %s%s", wrong.Field, wrong.Type, wrong.Value, otherList)
	case errors.As(err, &noTime):
		return fmt.Errorf(".%s: want a time such as 2006-01-02T15:04:05Z, got %.40q%s",
			transitionField, noTime.Value, otherList)
	}
	return err
}

// mergeConditions gives want the conditions of live, with the changes of this
// reconcile. A difference of live from stored is a conflict in a condition that
// this controller owns or sets.
func (c *change) mergeConditions(live map[string]any, owned func(typ string) bool) error {
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
		item, isConflict := pick(old[key], want[key], is[key], owned(typ))
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
	isChanged := !reflect.DeepEqual(before, after)
	isForeign := !reflect.DeepEqual(before, live)
	switch {
	case isForeign && (isChanged || isOwned):
		return nil, true
	case isChanged:
		return after, false
	}
	return live, false
}
