// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

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
	case nil, bool, string, int64, float64, json.Number:
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

// unkept remembers the fields that a CRD's schema prunes or defaults. To send
// them again would change only updatedAt, in each reconcile.
type unkept struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool // differences, and fields that an error has named
}

// maxUnkept bounds the memory. A forgotten field costs one more write and one
// more error.
const maxUnkept = 4096

// keyOf identifies a difference: sent is the value at path, and the API server
// stores the other one instead. A schema prunes a field with each of its
// values, so they have one key. The field then reads as nil, or as zero in a Go
// type without omitempty. A zero that was sent has a key of its own: a server
// with omitempty leaves it out, and stores the other values.
func keyOf(o Object, path string, sent, stored any) [sha256.Size]byte {
	if sent != nil && !isZero(sent) && (stored == nil || isZero(stored)) {
		sent, stored = nil, nil
	}
	return sha256.Sum256(encode([]any{fmt.Sprintf("%T %s", o, o.GetObjectKind().GroupVersionKind()), path, sent, stored}))
}

// differ reports whether patch changes a field that the API server may keep.
func (u *unkept) differ(o Object, patch, stored map[string]any) (differ bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	leaves("", patch, stored, func(path string, sent, stored any) {
		differ = differ || len(u.seen) == 0 || !u.seen[keyOf(o, path, sent, stored)]
	})
	return differ
}

// learn compares the sent status with the stored one. It returns an error that
// names the fields that Commit set or cleared without effect, each of them
// once for a kind. A default of a field that was not sent is not an error.
func (u *unkept) learn(o Object, before, sent, stored map[string]any) error {
	var paths []string
	cleared := map[string]bool{}
	u.mu.Lock()
	defer u.mu.Unlock()
	leaves("", diff(before, sent, false), before, func(path string, v, _ any) {
		if cleared[path] = v == nil; len(u.seen) > 0 {
			delete(u.seen, keyOf(o, path, true, nil)) // pruned: the reply says so again, or the schema was repaired
		}
	})
	leaves("", diff(stored, sent, false), stored, func(path string, v, w any) {
		if len(u.seen) == 0 || len(u.seen) >= maxUnkept {
			u.seen = map[[sha256.Size]byte]bool{}
		}
		key, named := keyOf(o, path, v, w), keyOf(o, "named "+path, nil, nil)
		if !u.seen[key] && !u.seen[named] && (v != nil || cleared[path]) {
			paths = append(paths, "status"+path)
			u.seen[named] = true
		}
		u.seen[key] = true
	})
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return fmt.Errorf("status: the API server did not keep %s as sent; declare it in the CRD's schema without a default, "+
		"stop setting it, or for a field of the contract set its name, or \"-\" for none, in FieldNames", strings.Join(paths, ", "))
}
