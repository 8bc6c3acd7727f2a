// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionsToStore returns the conditions that take the place of after's. It
// does not check unchanged conditions, so that a mistake of another program
// blocks nothing. The stored order stays: building the list in another order is
// not a change.
func (c *change) conditionsToStore() (conditionList, error) {
	before := c.base.content.conditions
	after := c.after.content.conditions
	stored := before.byKey()
	next := make(map[string]condition, len(after.items))
	for i, e := range after.items {
		same := stored[e.key]
		var err error
		next[e.key], err = c.conditionToStore(e, same)
		if err != nil {
			return after, fmt.Errorf("status: status.%s[%d]%w", c.names.Conditions, i, err)
		}
		if same == nil && e.key != e.Type {
			return after, fmt.Errorf("status: status.%s[%d].type: %q is in the list twice; "+
				"want each type once", c.names.Conditions, i, e.Type)
		}
	}
	var list conditionList
	for _, e := range before.items {
		kept, has := next[e.key]
		if has {
			list.items = append(list.items, kept)
		}
	}
	for _, e := range after.items {
		if stored[e.key] == nil {
			list.items = append(list.items, next[e.key])
		}
	}
	list.isSet = before.isSet || len(list.items) > 0 // a type may leave out an empty list
	return list, nil
}

// conditionToStore returns the condition that takes the place of stored, which
// is nil for a new one.
func (c *change) conditionToStore(e condition, stored *condition) (condition, error) {
	if e.isSame(stored) {
		return *stored, nil
	}
	if e.bad != nil {
		return e, e.bad
	}
	err := checkCondition(e.Condition)
	if err != nil {
		return e, err
	}
	var was metav1.Condition
	if stored != nil {
		was = stored.Condition
		was.ObservedGeneration = min(was.ObservedGeneration, c.newestGeneration())
	}
	next := e.limit(updated(was, e.Condition, c.now), stored)
	if was.LastTransitionTime.IsZero() && sameTexts(next, was) {
		next.LastTransitionTime = was.LastTransitionTime // the CRD may not have the field
	}
	if next.ObservedGeneration == 0 && e.hasField(generationField, stored) {
		next.ObservedGeneration = c.generationOf(next, was)
	}
	e = e.with(next)
	if e.isSame(stored) {
		return *stored, nil
	}
	return e, nil
}

// newestGeneration is the generation that a condition may have observed. One
// that was restored from a backup may have a greater one.
func (c *change) newestGeneration() int64 {
	generation := c.base.object.GetGeneration()
	if generation == 0 {
		return math.MaxInt64 // the kind has no generations
	}
	return generation
}

// generationOf is the observedGeneration of a condition that states none. An
// equal verdict stays without one if the stored condition has none.
func (c *change) generationOf(next, stored metav1.Condition) int64 {
	if sameVerdict(next, stored) {
		return 0
	}
	return c.generation
}

// redact replaces the messages of the conditions that differ from the stored
// ones. It calls the caller's function.
func (c *change) redact(message func(string) string) {
	stored := c.base.content.conditions.byKey()
	list := c.after.content.conditions.items
	for i, e := range list {
		if e.bad != nil || e.isSame(stored[e.key]) {
			continue
		}
		next := e.Condition
		next.Message = message(e.Message)
		list[i] = e.with(next)
	}
}
