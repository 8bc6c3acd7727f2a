// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// This file compares and encodes the trees of maps, slices and values that unstructured objects consist of. encoding/json
// and reflect do the same and make an allocation for each value; what is not of such a tree is left to them.

// maxDepth is a depth that only a cycle reaches: encoding/json then says so.
const maxDepth = 1000

// sameTree is reflect.DeepEqual. False means: not certainly the same.
func sameTree(a, b any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
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
	case nil, bool, string, int64, float64:
		return a == b
	default:
		return reflect.DeepEqual(a, b)
	}
}

// treeJSON is json.Marshal made canonical; nil for nil.
func treeJSON(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := appendTree(make([]byte, 0, 64), v, 0)
	if string(raw) == "null" {
		raw = nil
	}
	return raw, err
}

func appendTree(dst []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return appendOther(dst, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return appendMap(dst, v, depth)
	case []any:
		return appendSlice(dst, v, depth)
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendText(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	}
	return appendOther(dst, v)
}

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	var buf [16]string
	keys := buf[:0]
	for k := range m { // maps.Keys would move buf to the heap
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	first := len(dst)
	var err error
	for _, k := range keys {
		if !isPlain(k) {
			return appendOther(dst[:first-1], m) // whose escaped keys are in another order
		}
		mark := len(dst)
		if mark > first {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), k...), '"', ':')
		value := len(dst)
		if dst, err = appendTree(dst, m[k], depth+1); err != nil {
			return nil, err
		}
		if string(dst[value:]) == "null" {
			dst = dst[:mark]
		}
	}
	return append(dst, '}'), nil
}

func appendSlice(dst []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	var err error
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendTree(dst, v, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendOther appends any value as canonical JSON, null included.
func appendOther(dst []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return appendCanonical(slices.Grow(dst, len(raw)), raw), nil
}

// appendText appends s as encoding/json does.
func appendText(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s) // of a string: never fails
	return append(dst, quoted...)
}

// isPlain reports whether encoding/json writes s as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
