// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A JSON value is nil, a bool, a string, an int64, a float64, a []any or a
// map[string]any.

// encode encodes a JSON value, or a value that was encoded before. It does not
// fail.
func encode(v any) json.RawMessage {
	raw, _ := json.Marshal(v)
	return raw
}

// decode returns the JSON value of raw, which encoding/json wrote.
func decode(raw json.RawMessage) any {
	var v any
	_ = utiljson.Unmarshal(raw, &v)
	return canonical(v)
}

// canonical changes v to the form in which a client reads it from the API
// server: no null fields, and whole numbers as int64.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = canonical(field)
			if v[name] == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case float64:
		isWhole := v == math.Trunc(v)
		if isWhole && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	}
	return v
}

// isZero reports whether v is the zero of its type.
func isZero(v any) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case string:
		return v == ""
	case int64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// mergePatch returns the JSON merge patch (RFC 7386) that makes before into
// after. A merge patch merges objects, so it has null for a field that is gone.
//
// If zeros is true, the patch repeats equal fields that are zero. A schema may
// require them, and a typed object does not show whether they are stored.
func mergePatch(before, after map[string]any, zeros bool) map[string]any {
	patch := map[string]any{}
	for name, value := range after {
		old := before[name]
		isSame := reflect.DeepEqual(old, value)
		if isSame && !zeros {
			continue
		}
		from, wasObject := old.(map[string]any)
		to, isObject := value.(map[string]any)
		switch {
		case wasObject && isObject:
			inner := mergePatch(from, to, zeros)
			if len(inner) > 0 || len(to) == 0 {
				patch[name] = inner
			}
		case !isSame, isZero(value):
			patch[name] = value
		}
	}
	for name := range before {
		_, has := after[name]
		if !has {
			patch[name] = nil
		}
	}
	return patch
}

// leaves calls f with the path of each value in patch, and with the value there
// in stored, which is nil for none. A list is one value.
func leaves(path string, patch, stored map[string]any, f func(path string, sent, stored any)) {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		fields, wasObject := stored[name].(map[string]any)
		if isObject && wasObject {
			leaves(path+"."+name, inner, fields, f)
		} else {
			f(path+"."+name, value, stored[name])
		}
	}
}

// overlay returns v, with fields that only base has if both are objects.
func overlay(base, v any) any {
	below, wasObject := base.(map[string]any)
	above, isObject := v.(map[string]any)
	if !wasObject || !isObject {
		return v
	}
	fields := maps.Clone(below)
	for name, inner := range above {
		fields[name] = overlay(below[name], inner)
	}
	return fields
}

// covers reports whether stored has all of sent. It may have more fields, also
// in the elements of a list, but not more elements.
func covers(stored, sent any) bool {
	switch sent := sent.(type) {
	case map[string]any:
		fields, isObject := stored.(map[string]any)
		if !isObject {
			return false
		}
		for name, v := range sent {
			if !covers(fields[name], v) {
				return false
			}
		}
		return true
	case []any:
		items, isList := stored.([]any)
		return isList && slices.EqualFunc(items, sent, covers)
	}
	return reflect.DeepEqual(stored, sent)
}
