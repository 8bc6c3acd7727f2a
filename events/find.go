// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

// find is errors.As with a result in place of a target. errors.As allocates its
// target on each call, also where it finds nothing, and a reconcile that fails
// again must cost no memory. Go 1.26 has errors.AsType for this.
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
	switch wrapper := err.(type) { //nolint:errorlint // this walks the chain
	case interface{ Unwrap() error }:
		return find[T](wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			if found, ok = find[T](inner); ok {
				return found, true
			}
		}
	}
	return found, false
}
