// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is one condition of a list. In an unstructured list it keeps what it was read from: another program's condition
// may hold fields that metav1.Condition does not know, or be none at all, and goes through as it is.
type entry struct {
	metav1.Condition
	raw any   // nil in a typed list
	bad error // why raw is not a condition, from behind its path
}

// parseEntry reads one element of an unstructured list.
func parseEntry(raw any) entry {
	e := entry{raw: raw}
	m, ok := raw.(map[string]any)
	if !ok {
		e.bad = fmt.Errorf(": want an object, got %T", raw)
		return e
	}
	text := func(key string) string {
		s, ok := m[key].(string)
		if !ok && m[key] != nil {
			e.bad = fmt.Errorf(".%s: want text, got %T", key, m[key])
		}
		return s
	}
	e.Type, e.Status = text("type"), metav1.ConditionStatus(text("status"))
	e.Reason, e.Message = text("reason"), text("message")
	if t, err := parseTime(m["lastTransitionTime"]); err != nil {
		e.bad = fmt.Errorf(".lastTransitionTime: %w", err)
	} else if t != nil {
		e.LastTransitionTime = *t
	}
	var err error
	if e.ObservedGeneration, err = parseInt(m["observedGeneration"]); err != nil {
		e.bad = fmt.Errorf(".observedGeneration: %w", err)
	}
	return e
}

// with returns e holding c. Its raw form keeps the fields that are not c's, and stored's own spelling of an equal time.
func (e entry) with(c metav1.Condition, stored *entry) entry {
	m, ok := e.raw.(map[string]any)
	if !ok {
		return entry{Condition: c}
	}
	m = maps.Clone(m)
	m["type"], m["status"], m["reason"], m["message"] = c.Type, string(c.Status), c.Reason, c.Message
	m["lastTransitionTime"] = c.LastTransitionTime.ToUnstructured()
	if stored != nil && sameSecond(&c.LastTransitionTime, &stored.LastTransitionTime) {
		if s, ok := stored.raw.(map[string]any); ok {
			m["lastTransitionTime"] = s["lastTransitionTime"]
		}
	}
	delete(m, "observedGeneration")
	if c.ObservedGeneration != 0 {
		m["observedGeneration"] = c.ObservedGeneration
	}
	return entry{Condition: c, raw: m}
}

// sameEntry compares what the API server would store. Entries that are no conditions are the same if they hold the same.
func sameEntry(a, b entry) bool {
	if a.bad != nil || b.bad != nil {
		return reflect.DeepEqual(a.raw, b.raw)
	}
	return sameCondition(a.Condition, b.Condition) && sameExtras(a, b)
}

// sameExtras compares the fields that metav1.Condition does not know.
func sameExtras(a, b entry) bool {
	return reflect.DeepEqual(a.extras(), b.extras())
}

func (e entry) extras() map[string]any {
	m, _ := e.raw.(map[string]any)
	var extras map[string]any
	for k, v := range m {
		switch k {
		case "type", "status", "reason", "message", "lastTransitionTime", "observedGeneration":
			continue
		}
		if v == nil {
			continue
		}
		if extras == nil {
			extras = map[string]any{}
		}
		extras[k] = v
	}
	return extras
}

// bare returns the conditions alone; nil for none.
func bare(list []entry) []metav1.Condition {
	if len(list) == 0 {
		return nil
	}
	conds := make([]metav1.Condition, len(list))
	for i, e := range list {
		conds[i] = e.Condition
	}
	return conds
}

// raws returns an unstructured list as it was read.
func raws(list []entry) []any {
	items := make([]any, len(list))
	for i, e := range list {
		items[i] = e.raw
	}
	return items
}
