// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// entry is one condition of a list.
type entry struct {
	metav1.Condition

	key   string // the type, with a number for the second of the type
	item  any    // decoded JSON, unless the list is a []metav1.Condition
	form  *form  // of the list, if there is an item
	bad   error  // why item is not a condition; the text continues its path
	place int    // in the stored list
}

// entries is a list of conditions.
type entries []entry

// otherList is the remedy for a list whose items are not conditions.
const otherList = `, or for a list of another kind FieldNames.Conditions "-"`

// entriesOf reads a list of conditions from a field of a status, or from its
// encoded form if the field has another type.
func entriesOf(field, encoded any) (list entries, err error) {
	if conds, typed := field.(*[]metav1.Condition); typed {
		for _, c := range *conds {
			list = append(list, entry{Condition: c})
		}
	} else if raw, stored := encoded.(json.RawMessage); stored {
		items, ok := decode(raw).([]any)
		if !ok {
			return nil, errors.New("want a list of conditions" + otherList)
		}
		var conds []metav1.Condition
		failed := utiljson.Unmarshal(raw, &conds) // by one item, or more
		form := formOf(field)
		for i, item := range items {
			e := entry{item: item, form: form}
			if _, ok := item.(map[string]any); !ok {
				e.bad = errors.New(": want an object" + otherList)
			} else if failed == nil {
				e.Condition = conds[i]
			} else if err := utiljson.Unmarshal(encode(item), &e.Condition); err != nil {
				e = entry{item: item, form: form, bad: fmt.Errorf(": %w; want a condition%s", err, otherList)}
			}
			list = append(list, e)
		}
	}
	count := make(map[string]int, len(list))
	for i := range list {
		e := &list[i]
		if e.key = e.Type; e.bad != nil {
			e.key = "\x00" + string(encode(e.item))
		}
		if count[e.key]++; count[e.key] > 1 {
			e.key += "\x00" + strconv.Itoa(count[e.key])
		}
	}
	return list, nil
}

// MarshalJSON encodes the items that the entries were read from.
func (list entries) MarshalJSON() ([]byte, error) {
	items := make([]any, len(list))
	for i := range list {
		if items[i] = list[i].item; items[i] == nil && list[i].bad == nil {
			items[i] = &list[i].Condition
		}
	}
	return json.Marshal(items)
}

// with returns e with the fields of c. It keeps the fields that a Condition
// does not have, and adds no empty ones.
func (e entry) with(c metav1.Condition) entry {
	e.Condition = c
	fields, ok := e.item.(map[string]any)
	if !ok {
		return e
	}
	known, _ := decode(encode(c)).(map[string]any)
	fields = maps.Clone(fields)
	for name, value := range known {
		if value != "" || hasKey(fields, name) {
			fields[name] = value
		}
	}
	e.item = fields
	return e
}

// extras are the fields that metav1.Condition does not have.
func (e entry) extras() map[string]any {
	fields, _ := e.item.(map[string]any)
	fields = maps.Clone(fields)
	for _, known := range conditionFields() {
		delete(fields, known)
	}
	return fields
}

// alike reports whether two entries are equal except for the time of the
// transition.
func alike(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.key == b.key && sameVerdict(a.Condition, b.Condition) && sameTree(a.extras(), b.extras(), 0)
}

// sameEntry compares two entries as the API server would store them.
func sameEntry(a, b entry) bool {
	return alike(&a, &b) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
}

// byKey returns the entries of list by their keys.
func byKey(list entries) map[string]*entry {
	entries := make(map[string]*entry, len(list))
	for i := range list {
		list[i].place = i
		entries[list[i].key] = &list[i]
	}
	return entries
}

// put makes list the conditions of tree. An empty list is put only in place of
// another one: the schema may require it.
func put(tree map[string]any, name string, list entries) {
	if name == absent {
		return
	}
	_, has := tree[name]
	if has || len(list) > 0 {
		tree[name] = list
	}
}

// settleList replaces the conditions of after by those to store. It does not
// check unchanged conditions, so that a mistake of another program blocks
// nothing.
func (c *change) settleList(before, after map[string]any) error {
	name := c.names.Conditions
	stored, _ := before[name].(entries)
	list, _ := after[name].(entries)
	var err error
	known, settled := byKey(stored), make(entries, len(list))
	for i, e := range list {
		same := known[e.key]
		if e.place = len(stored); same != nil {
			e.place = same.place
		}
		if settled[i], err = c.settleEntry(e, same); err != nil {
			return fmt.Errorf("status: status.%s[%d]%w", name, i, err)
		}
		if same == nil && e.bad == nil && e.key != e.Type {
			return fmt.Errorf("status: status.%s[%d].type: %q is in the list twice; want each type once", name, i, e.Type)
		}
	}
	// The stored order stays: building the list in another order is not a
	// change.
	slices.SortStableFunc(settled, func(a, b entry) int { return a.place - b.place })
	_, has := before[name]
	if has {
		after[name] = entries{} // also if the type leaves out an empty list
	}
	put(after, name, settled)
	return nil
}

// settleEntry returns the entry to store for e in place of stored, which is nil
// for a new condition.
func (c *change) settleEntry(e entry, stored *entry) (entry, error) {
	if stored != nil && sameEntry(*stored, e) {
		return *stored, nil
	}
	if e.bad != nil {
		return e, e.bad
	}
	if err := checkCondition(e.Condition); err != nil {
		return e, err
	}
	if c.redact != nil {
		e.Message = c.redact(e.Message)
	}
	known := cmp.Or(stored, &entry{}).Condition
	if c.restored {
		known.ObservedGeneration = min(known.ObservedGeneration, c.generation)
	}
	next := e.limit(settle(e.Condition, known, c.now), stored)
	if known.LastTransitionTime.IsZero() && next.Status == known.Status && next.Reason == known.Reason && next.Message == known.Message {
		next.LastTransitionTime = known.LastTransitionTime // the CRD may not have the field
	}
	if next.ObservedGeneration == 0 && e.hasField("observedGeneration", stored) {
		next.ObservedGeneration = known.ObservedGeneration
		if !sameVerdict(next, known) {
			next.ObservedGeneration = c.generation
		} else if known.ObservedGeneration != 0 { // the verdict holds for the new generation too
			next.ObservedGeneration = max(c.generation, known.ObservedGeneration)
		}
	}
	if e = e.with(next); stored != nil && sameEntry(e, *stored) {
		return *stored, nil
	}
	return e, nil
}

// pick returns the side of a three-way merge that counts. It is a conflict if
// both sides changed differently.
func pick[T any](before, after, live T, same func(a, b T) bool) (side T, conflict bool) {
	switch {
	case same(before, after), same(after, live):
		return live, false
	case same(before, live):
		return after, false
	}
	return after, true
}

// merge applies the changes from before to after to live, and returns a new
// tree, with live's contract fields. A field of the status is one unit: a
// jobRef with the name of one side and the uid of the other would refer to
// nothing. In a first status the field of live is a default, and after counts.
func (c *change) merge(before, after, live map[string]any, owned []string) (map[string]any, error) {
	for _, tree := range [...]map[string]any{before, after, live} {
		for name, v := range tree {
			tree[name] = decode(v)
		}
	}
	merged, either := maps.Clone(live), maps.Clone(before)
	maps.Copy(either, after)
	for name := range either {
		if c.names.has(name) {
			continue
		}
		side, conflict := pick(before[name], after[name], live[name], func(a, b any) bool { return sameTree(a, b, 0) })
		if conflict && c.isFirst {
			side = overlay(live[name], after[name])
			conflict = false
		}
		if conflict {
			return nil, fmt.Errorf("%w: %s: status.%s", ErrFieldConflict, nameOf(c.after.object), name)
		}
		if merged[name] = side; side == nil {
			delete(merged, name)
		}
	}
	list, err := c.mergeLists([...]map[string]any{before, after, live}, owned)
	put(merged, c.names.Conditions, list)
	return merged, err
}

// mergeLists merges the conditions of three trees. The error names each
// conflict.
func (c *change) mergeLists(trees [3]map[string]any, owned []string) (merged entries, err error) {
	var lists [3]entries
	var sides [3]map[string]*entry
	for i, tree := range trees {
		lists[i], _ = tree[c.names.Conditions].(entries)
		sides[i] = byKey(lists[i])
	}
	for i, e := range slices.Concat(lists[2], lists[1]) {
		before, after, live := sides[0][e.key], sides[1][e.key], sides[2][e.key]
		if i >= len(lists[2]) && live != nil {
			continue // merged already
		}
		side, conflict := pick(before, after, live, alike)
		isOwned := c.isFirst || slices.Contains(owned, e.Type)
		if conflict && !isOwned {
			err = errors.Join(err, fmt.Errorf("%w: %s: status.%s %s", ErrFieldConflict, nameOf(c.after.object), c.names.Conditions, e.Type))
		}
		switch {
		case !conflict || after == nil:
		case live != nil && after.ObservedGeneration != 0 && after.ObservedGeneration < live.ObservedGeneration:
			side = live
		case before != nil && sameSecond(&after.LastTransitionTime, &before.LastTransitionTime):
			after.LastTransitionTime = metav1.Time{} // it was carried over, and the stored status may have changed since
		}
		if side != nil {
			merged = append(merged, *side)
		}
	}
	return merged, err
}
