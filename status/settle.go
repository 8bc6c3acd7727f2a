// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
)

// settleList returns old's conditions, after's as they are to be written, and whether they count: false means that they
// are as in old. What did not change is not looked at, so that a condition which another program wrote wrongly blocks nothing.
func (n Names) settleList(old, cur *document, c change) (was, list []entry, settled bool, err error) {
	if n.Conditions == absent || cur.same(old, n.Conditions) {
		return nil, nil, false, nil
	}
	if was, err = old.conditions(n.Conditions); err != nil {
		return nil, nil, false, err
	}
	if list, err = cur.conditions(n.Conditions); err != nil {
		return nil, nil, false, err
	}
	for i, e := range list {
		if list[i], err = settleEntry(e, was, c); err != nil {
			return nil, nil, false, fmt.Errorf("status: status.%s[%d]%w", n.Conditions, i, err)
		}
		if k := count(list[:i+1], e.Type); k > 1 && k > count(was, e.Type) {
			return nil, nil, false, fmt.Errorf("status: status.%s[%d].type: %q is there already", n.Conditions, i, e.Type)
		}
	}
	// The order of the stored list stays, so that a list which is built anew each time is no change.
	slices.SortStableFunc(list, func(a, b entry) int { return place(was, a) - place(was, b) })
	return was, list, true, nil
}

func settleEntry(e entry, was []entry, c change) (entry, error) {
	if i := slices.IndexFunc(was, func(o entry) bool { return sameEntry(o, e) }); i >= 0 {
		return was[i], nil // in its own spelling of the time
	}
	if e.bad != nil {
		return e, e.bad
	}
	if err := checkCondition(e.Condition); err != nil {
		return e, err
	}
	var stored *entry
	next := settle(e.Condition, nil, c.now)
	if i := indexOf(was, e.Type); i >= 0 {
		stored = &was[i]
		next = settle(e.Condition, &stored.Condition, c.now)
		if next.ObservedGeneration == 0 && stored.ObservedGeneration != 0 && sameVerdict(stated(next, stored.Condition), stored.Condition) {
			next.ObservedGeneration = max(c.generation, stored.ObservedGeneration)
		}
		if sameCondition(next, stored.Condition) && sameExtras(e, *stored) {
			return *stored, nil
		}
	}
	if next.ObservedGeneration == 0 {
		next.ObservedGeneration = c.generation
	}
	return e.with(next, stored), nil
}

// count returns how many conditions of a type there are. A list without keys can hold several; they are let through.
func count(list []entry, typ string) (n int) {
	for _, e := range list {
		if e.bad == nil && e.Type == typ {
			n++
		}
	}
	return n
}

// indexOf returns the first condition of a type, or -1.
func indexOf(list []entry, typ string) int {
	return slices.IndexFunc(list, func(e entry) bool { return e.bad == nil && e.Type == typ })
}

// place is where an entry stands in the stored list: behind all for a new one.
func place(was []entry, e entry) int {
	i := indexOf(was, e.Type)
	if e.bad != nil {
		i = slices.IndexFunc(was, func(o entry) bool { return sameEntry(o, e) })
	}
	if i < 0 {
		return len(was)
	}
	return i
}
