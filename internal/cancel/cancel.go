// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cancel tells an error that says nothing but that its context was cancelled from one that hides a failure.
package cancel

import (
	"context"
	"errors"
)

// Only reports whether err is context.Canceled, wrapped or not, and, where several errors are joined, whether each of them is.
func Only(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it looks at each error of the tree
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if one != nil && !Only(one) {
				return false
			}
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return Only(inner)
		}
	}
	return errors.Is(err, context.Canceled)
}
