// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A tree is a status as maps, lists and plain values. A field directly under
// status can also be a json.RawMessage, and the conditions are entries. Two
// trees that the API server stores as the same are equal.

// encode encodes a part of a tree. It does not fail, because the part was
// decoded from JSON.
func encode(v any) json.RawMessage {
	raw, _ := json.Marshal(v)
	return raw
}

// decode returns v. If v is encoded, it returns the canonical form.
func decode(v any) any {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return v
	}
	v = nil
	_ = utiljson.Unmarshal(raw, &v) // cannot fail, because encoding/json wrote it
	return canonical(v)
}

// canonical changes v, which is decoded JSON, to the form in which a client
// reads it from the API server: no null fields, and whole numbers as int64.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			if v[k] = canonical(field); v[k] == nil {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	}
	return v
}

// compare decodes the fields that differ in before and after, so that two forms
// of one value become equal.
func compare(before, after map[string]any) {
	for name, v := range before {
		if w, ok := after[name]; ok && !sameTree(v, w, 0) {
			before[name], after[name] = decode(v), decode(w)
		}
	}
}

// diff returns the JSON merge patch (RFC 7386) that makes before into after. A
// merge patch merges objects, so it has null for a field that is gone.
//
// If zeros is true, the patch repeats equal fields that are zero. A schema may
// require them, and a typed object does not show whether they are stored.
func diff(before, after map[string]any, zeros bool) map[string]any {
	patch := map[string]any{}
	for name, v := range after {
		same := sameTree(before[name], v, 0)
		if same && !zeros {
			continue
		}
		from, wasObject := asObject(before[name])
		to, isObject := asObject(v)
		if wasObject && isObject {
			if inner := diff(from, to, zeros); len(inner) > 0 || len(to) == 0 {
				patch[name] = inner
			}
		} else if !same || isZero(v) {
			patch[name] = v
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			patch[name] = nil
		}
	}
	return patch
}

// asObject returns the fields of an object, which may be encoded.
func asObject(v any) (fields map[string]any, ok bool) {
	if raw, encoded := v.(json.RawMessage); encoded && raw[0] == '{' {
		v = decode(raw)
	}
	fields, ok = v.(map[string]any)
	return fields, ok
}

// isZero reports whether v is the zero of its type.
func isZero(v any) bool {
	raw, encoded := v.(json.RawMessage)
	if !encoded {
		raw = encode(v)
	}
	return slices.Contains([]string{"0", `""`, "false", "[]", "{}"}, string(raw))
}

// maxDepth is a depth that only a cycle reaches. encoding/json returns an error
// for a cycle.
const maxDepth = 1000

// sameTree is reflect.DeepEqual without an allocation for each value. False
// means: not certainly the same.
func sameTree(a, b any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !sameTree(v, w, depth+1) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, func(v, w any) bool { return sameTree(v, w, depth+1) })
	case entries:
		b, ok := b.(entries)
		return ok && slices.EqualFunc(a, b, sameEntry)
	case json.RawMessage:
		b, ok := b.(json.RawMessage)
		return ok && bytes.Equal(a, b)
	case nil:
		list, ok := b.(entries)
		return b == nil || ok && len(list) == 0 // a type may leave out an empty list
	case bool, string, int64, float64, json.Number:
		return a == b
	}
	return false
}

// leaves calls f with the path of each value in patch, and with the value there
// in stored, which is nil for none. A list is one value.
func leaves(path string, patch, stored map[string]any, f func(path string, sent, stored any)) {
	for k, v := range patch {
		inner, isMap := v.(map[string]any)
		if fields, areMaps := stored[k].(map[string]any); isMap && areMaps {
			leaves(path+"."+k, inner, fields, f)
		} else {
			f(path+"."+k, v, stored[k])
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
		fields, ok := stored.(map[string]any)
		if !ok {
			return false
		}
		for name, v := range sent {
			if !covers(fields[name], v) {
				return false
			}
		}
		return true
	case []any:
		items, ok := stored.([]any)
		return ok && slices.EqualFunc(items, sent, covers)
	}
	return sameTree(stored, sent, 0)
}
