// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"slices"
)

// This file compares JSON as encoding/json writes it: valid, and without white space between tokens. Working on the bytes
// keeps numbers as they are, makes a struct and a map that hold the same equal, and builds no trees.

// member is one key of an object, with its quotes, and its value.
type member struct{ key, value []byte }

// byKey compares the keys without their quotes, so that a key is before those that it begins.
func byKey(a, b member) int {
	return bytes.Compare(a.key[1:len(a.key)-1], b.key[1:len(b.key)-1])
}

// canonical sorts the keys of all objects and drops those that are null; it returns nil for null itself. An API object's
// null and absent fields mean the same.
func canonical(raw []byte) []byte {
	switch raw[0] {
	case 'n':
		return nil
	case '{', '[':
		return appendCanonical(make([]byte, 0, len(raw)), raw)
	default:
		return raw
	}
}

func appendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '{':
		var buf [16]member
		dst = append(dst, '{')
		first := len(dst)
		for _, m := range members(buf[:0], raw) {
			if m.value[0] == 'n' {
				continue
			}
			if len(dst) > first {
				dst = append(dst, ',')
			}
			dst = append(append(dst, m.key...), ':')
			dst = appendCanonical(dst, m.value)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i := 1; raw[i] != ']'; {
			if raw[i] == ',' {
				dst, i = append(dst, ','), i+1
			}
			end := valueEnd(raw, i)
			dst = appendCanonical(dst, raw[i:end])
			i = end
		}
		return append(dst, ']')
	default:
		return append(dst, raw...)
	}
}

// appendDiff appends the JSON merge patch (RFC 7386) that makes was into is, both canonical, and reports whether there is
// a difference. Objects are compared key by key, because a merge patch merges them: a key that is gone must be null.
func appendDiff(dst, was, is []byte) ([]byte, bool) {
	switch {
	case bytes.Equal(was, is):
		return dst, false
	case is == nil:
		return append(dst, "null"...), true
	case was == nil || was[0] != '{' || is[0] != '{':
		return append(dst, is...), true
	}
	var bufA, bufB [16]member
	a, b := members(bufA[:0], was), members(bufB[:0], is)
	start := len(dst)
	for len(a) > 0 || len(b) > 0 {
		var key, x, y []byte
		var order int // which side has the next key: -1 was, 1 is, 0 both
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = byKey(a[0], b[0])
		}
		if order <= 0 {
			key, x, a = a[0].key, a[0].value, a[1:]
		}
		if order >= 0 {
			key, y, b = b[0].key, b[0].value, b[1:]
		}
		mark := len(dst)
		dst = append(append(append(dst, ','), key...), ':')
		var differs bool
		if dst, differs = appendDiff(dst, x, y); !differs {
			dst = dst[:mark]
		}
	}
	if len(dst) == start {
		return dst, false
	}
	dst[start] = '{'
	return append(dst, '}'), true
}

// members appends the keys of the object raw, sorted.
func members(dst []member, raw []byte) []member {
	for i := 1; raw[i] != '}'; {
		if raw[i] == ',' {
			i++
		}
		colon := valueEnd(raw, i)
		end := valueEnd(raw, colon+1)
		dst = append(dst, member{raw[i:colon], raw[colon+1 : end]})
		i = end
	}
	slices.SortStableFunc(dst, byKey)
	return dst
}

// valueEnd returns where the value that begins at i ends. It is one of an object or a list, whose end ends it at the latest.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
}
