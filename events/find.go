// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// find is errors.As with a result in place of a target. errors.As allocates its
// target on each call, also where it finds nothing, and a reconcile that fails
// again must cost no memory. Go 1.26 has errors.AsType for this. Unlike these,
// find also looks into an Aggregate of apimachinery.
func find[T any](err error) (found T, ok bool) {
	if found, ok = err.(T); ok {
		return found, true
	}
	if own, can := err.(interface{ As(target any) bool }); can {
		target := new(T)
		if own.As(target) {
			return *target, true
		}
	}
	var inner []error
	switch wrapper := err.(type) { //nolint:errorlint // this walks the chain
	case interface{ Unwrap() error }:
		return find[T](wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		inner = wrapper.Unwrap()
	case interface{ Errors() []error }:
		inner = wrapper.Errors()
	}
	for _, err := range inner {
		if found, ok = find[T](err); ok {
			return found, true
		}
	}
	return found, false
}
