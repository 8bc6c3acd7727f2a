// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// narrow finds the whole numbers that are too large for their fields. The decoder cuts them to size without a word, and a port of
// 4294967376 would be 80.
func narrow(raw any, t reflect.Type, path *field.Path) (errs field.ErrorList) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := raw.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if f := member(t, key); f != nil {
				errs = append(errs, narrow(v[key], f, child(path, key))...)
			}
		}
	case []any:
		for i := range v {
			if t.Kind() == reflect.Slice {
				errs = append(errs, narrow(v[i], t.Elem(), path.Index(i))...)
			}
		}
	case int64:
		if t.Kind() == reflect.Int32 && (v < math.MinInt32 || v > math.MaxInt32) {
			errs = append(errs, field.TypeInvalid(path, v, "want a whole number of 32 bits"))
		}
	case float64: // a whole one is beyond int64, or normal had made it that
		if (t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64) && v == math.Trunc(v) {
			errs = append(errs, field.TypeInvalid(path, v, "want "+want(t)))
		}
	}
	return errs
}

// member is the type of what an object of type t has under a key, or nil.
func member(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == key {
			return f.Type
		}
		if name == "" && f.Anonymous {
			if of := member(f.Type, key); of != nil {
				return of
			}
		}
	}
	return nil
}

// wide reports whether any number would not fit 32 bits. There hardly ever is one, and then narrow need not look.
func wide(raw any) bool {
	switch v := raw.(type) {
	case map[string]any:
		for key := range v {
			if wide(v[key]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, wide)
	case int64:
		return v < math.MinInt32 || v > math.MaxInt32
	case float64:
		return v < math.MinInt32 || v > math.MaxInt32
	}
	return false
}

// whole is n cut to a whole number, or the nearest one of 32 bits.
func whole[N int | int64 | float64](n N) int32 {
	return int32(max(math.MinInt32, min(n, math.MaxInt32)))
}
