// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package isnil_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/internal/isnil"
)

func TestIs(t *testing.T) {
	var (
		none    *fs.PathError
		wrapped error = none
	)
	for name, tc := range map[string]struct {
		reason string
		v      any
		want   bool
	}{
		"Nil":        {"An interface without a value is nil.", nil, true},
		"NilPointer": {"The methods of a nil pointer would panic.", wrapped, true},
		"Pointer":    {"A pointer to a value is not nil.", new(fs.PathError), false},
		"Error":      {"A plain error is not nil.", errors.New("x"), false},
		"Zero":       {"A zero value has methods that work.", 0, false},
		"NilMap":     {"A nil map can be read.", map[string]int(nil), false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, isnil.Is(tc.v), tc.reason) })
	}
}
