// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
)

// merge is a three-way merge: it applies the changes from before to after to
// live.
type merge struct {
	before, after, live content

	object  string     // for errors
	names   FieldNames // resolved
	isFirst bool       // this controller's is the first status: what live has are defaults
}

// merged returns the new status, with live's contract fields. A field of the
// status is one unit: a jobRef with the name of one side and the uid of the
// other would refer to nothing.
func (m merge) merged() (content, error) {
	merged := content{fields: maps.Clone(m.live.fields)}
	either := maps.Clone(m.before.fields)
	maps.Copy(either, m.after.fields)
	for name := range either {
		if m.names.has(name) {
			continue
		}
		value, err := m.field(name)
		if err != nil {
			return content{}, err
		}
		if value == nil {
			delete(merged.fields, name)
		} else {
			merged.fields[name] = value
		}
	}
	var err error
	merged.conditions, err = m.conditions()
	return merged, err
}

// field returns the value of a field; nil for none.
func (m merge) field(name string) (any, error) {
	before := m.before.fields[name]
	after := m.after.fields[name]
	live := m.live.fields[name]
	switch {
	case reflect.DeepEqual(before, after):
		return live, nil
	case reflect.DeepEqual(before, live), reflect.DeepEqual(after, live):
		return after, nil
	case m.isFirst:
		return overlay(live, after), nil
	}
	return nil, fmt.Errorf("%w: %s: status.%s", ErrFieldConflict, m.object, name)
}

// conditions returns the list. The error names each conflict.
func (m merge) conditions() (conditionList, error) {
	before := m.before.conditions.byKey()
	after := m.after.conditions.byKey()
	live := m.live.conditions.byKey()
	var list conditionList
	var conflicts []error
	add := func(e condition) {
		side, isConflict := m.pick(before[e.key], after[e.key], live[e.key])
		if isConflict {
			err := fmt.Errorf("%w: %s: status.%s %s", ErrFieldConflict, m.object, m.names.Conditions, e.Type)
			conflicts = append(conflicts, err)
		}
		if side != nil {
			list.items = append(list.items, *side)
		}
	}
	for _, e := range m.live.conditions.items {
		add(e)
	}
	for _, e := range m.after.conditions.items {
		if live[e.key] == nil {
			add(e)
		}
	}
	return list, errors.Join(conflicts...)
}

// pick returns the condition to store; nil for none. It is a conflict if both
// sides changed a condition differently, also one that this controller owns:
// the other side is then its own other instance, whose verdict may be newer.
func (m merge) pick(before, after, live *condition) (side *condition, isConflict bool) {
	switch {
	case sameExceptTime(before, after), sameExceptTime(after, live):
		return live, false
	case sameExceptTime(before, live), m.isFirst:
		return after, false
	}
	return nil, true
}
