// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package isnil finds nil pointers that an interface hides.
package isnil

import "reflect"

// Is reports whether v is nil or an interface that holds a nil pointer, whose
// methods would panic.
func Is(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
