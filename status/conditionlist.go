// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionList is the list of conditions of a status.
type conditionList struct {
	items []condition
	isSet bool // the status has the list, which may be empty
}

// condition is an element of a list of conditions.
type condition struct {
	metav1.Condition

	item   any              // the element as it is encoded
	fields map[string]any   // of item; nil if it is not an object
	rest   map[string]any   // those of fields that a metav1.Condition does not have
	of     *conditionFields // of the list
	key    string           // the type, with a number for the second of the type
	bad    error            // why item is not a condition; the text continues its path
}

// otherList is the remedy for a list whose items are not conditions.
const otherList = `, or for a list of another kind FieldNames.Conditions "-"`

// conditionsOf reads a list of conditions. field is what the status has it in.
func conditionsOf(field, value any) ([]condition, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, errors.New("want a list of conditions" + otherList)
	}
	list := make([]condition, len(items))
	for i, item := range items {
		list[i] = conditionOf(item)
	}
	join(list, conditionFieldsOf(field))
	return list, nil
}

// join makes the conditions elements of one list.
func join(list []condition, fields *conditionFields) {
	count := make(map[string]int, len(list))
	for i := range list {
		e := &list[i]
		e.of = fields
		count[e.key]++
		if count[e.key] > 1 {
			e.key += "\x00" + strconv.Itoa(count[e.key])
		}
	}
}

// conditionOf reads an element of a list.
func conditionOf(item any) condition {
	fields, ok := item.(map[string]any)
	if !ok {
		return badCondition(item, errors.New(": want an object"+otherList))
	}
	e := condition{item: item, fields: fields}
	e.bad = e.fill()
	if e.bad != nil {
		return badCondition(item, e.bad)
	}
	e.key = e.Type
	for name, value := range fields {
		if slices.Contains(allConditionFields(), name) {
			continue
		}
		if e.rest == nil {
			e.rest = map[string]any{}
		}
		e.rest[name] = value
	}
	return e
}

// badCondition is an element that is not a condition. It is never equal to one.
func badCondition(item any, why error) condition {
	return condition{item: item, bad: why, key: "\x00" + string(encode(item))}
}

// fill fills in the Condition from the fields.
func (e *condition) fill() error {
	texts := []struct {
		name string
		to   *string
	}{
		{typeField, &e.Type},
		{statusField, (*string)(&e.Status)},
		{reasonField, &e.Reason},
		{messageField, &e.Message},
	}
	for _, t := range texts {
		value, ok := e.fields[t.name]
		if !ok {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf(".%s: want a text, got %.40s%s", t.name, encode(value), otherList)
		}
		*t.to = text
	}
	generation, has := e.fields[generationField]
	if has {
		number, ok := generation.(int64)
		if !ok {
			return fmt.Errorf(".%s: want a whole number, got %.40s%s",
				generationField, encode(generation), otherList)
		}
		e.ObservedGeneration = number
	}
	transition, has := e.fields[transitionField]
	if !has {
		return nil
	}
	text, _ := transition.(string)
	since, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf(".%s: want a time such as 2006-01-02T15:04:05Z, got %.40s%s",
			transitionField, encode(transition), otherList)
	}
	e.LastTransitionTime = metav1.NewTime(since.Local())
	return nil
}

// with returns e with the values of c. It keeps the fields that a Condition
// does not have, and adds no empty ones.
func (e *condition) with(c metav1.Condition) condition {
	next := *e
	next.Condition = c
	next.fields = maps.Clone(e.fields)
	texts := []struct{ name, text string }{
		{typeField, c.Type},
		{statusField, string(c.Status)},
		{reasonField, c.Reason},
		{messageField, c.Message},
	}
	for _, t := range texts {
		if t.text != "" || e.hasKey(t.name) {
			next.fields[t.name] = t.text
		}
	}
	if !c.LastTransitionTime.IsZero() {
		next.fields[transitionField] = c.LastTransitionTime.ToUnstructured()
	}
	if c.ObservedGeneration != 0 {
		next.fields[generationField] = c.ObservedGeneration
	}
	next.item = next.fields
	return next
}

// sameExceptTime reports whether two conditions are equal except for the time
// of the transition. A nil condition is one that a list does not have.
func sameExceptTime(a, b *condition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.key == b.key && sameVerdict(a.Condition, b.Condition) && reflect.DeepEqual(a.rest, b.rest)
}

// isSame reports whether the API server would store the two as the same.
func (e *condition) isSame(other *condition) bool {
	return sameExceptTime(e, other) && sameSecond(&e.LastTransitionTime, &other.LastTransitionTime)
}

// byKey returns the conditions by their keys.
func (l conditionList) byKey() map[string]*condition {
	known := make(map[string]*condition, len(l.items))
	for i := range l.items {
		known[l.items[i].key] = &l.items[i]
	}
	return known
}

// withoutPruned returns the list without the fields that stored lacks and that
// Commit may have added: nothing says which fields the conditions of an
// unstructured status have.
func (l conditionList) withoutPruned(stored conditionList) conditionList {
	known := stored.byKey()
	kept := conditionList{isSet: l.isSet}
	for _, e := range l.items {
		same := known[e.key]
		if same != nil && !e.of.isTyped {
			e = e.without(same, transitionField, generationField)
		}
		kept.items = append(kept.items, e)
	}
	return kept
}

// without returns e without those of the fields that stored lacks.
func (e *condition) without(stored *condition, names ...string) condition {
	next := *e
	next.fields = maps.Clone(e.fields)
	for _, name := range names {
		if !stored.hasKey(name) {
			delete(next.fields, name)
		}
	}
	next.item = next.fields
	return next
}

// encoded is the list as it is encoded.
func (l conditionList) encoded() []any {
	items := make([]any, len(l.items))
	for i := range l.items {
		items[i] = l.items[i].item
	}
	return items
}
