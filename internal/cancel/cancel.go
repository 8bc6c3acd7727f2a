// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cancel finds errors that only say that their context was cancelled,
// and hide no other failure.
package cancel

import (
	"context"
	"errors"
)

// Only reports whether err is context.Canceled, wrapped or not. Of joined
// errors, each must be context.Canceled.
func Only(err error) bool {
	switch e := err.(type) { //nolint:errorlint // each error of the tree counts
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
