// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// code is an error that find looks for.
type code int

func (c code) Error() string { return fmt.Sprint("code ", int(c)) }

// translated is not a code. Its method As converts it to one.
type translated struct{ code code }

func (translated) Error() string { return "translated" }

func (t translated) As(target any) bool {
	c, ok := target.(*code)
	if ok {
		*c = t.code
	}
	return ok
}

// TestFind_AgreesWithErrorsAs compares the two on each shape of a chain.
func TestFind_AgreesWithErrorsAs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   code
		found  bool
	}{
		"Nil":          {"No error holds nothing.", nil, 0, false},
		"Itself":       {"The error itself comes first.", code(1), 1, true},
		"Other":        {"An error of another type is none.", errors.New("x"), 0, false},
		"Wrapped":      {"%w wraps one error.", fmt.Errorf("a: %w", fmt.Errorf("b: %w", code(2))), 2, true},
		"WrappedOther": {"The chain ends without one.", fmt.Errorf("a: %w", errors.New("x")), 0, false},
		"Joined":       {"The first of several that fits decides.", errors.Join(errors.New("x"), code(3), code(4)), 3, true},
		"JoinedDeep":   {"A branch is searched to its end before the next.", errors.Join(fmt.Errorf("a: %w", code(5)), code(6)), 5, true},
		"JoinedOther":  {"No branch has one.", errors.Join(errors.New("x"), errors.New("y")), 0, false},
		"As":           {"An error may convert itself to another.", fmt.Errorf("a: %w", translated{7}), 7, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := find[code](tc.err)
			assert.Equal(t, tc.found, ok, tc.reason)
			assert.Equal(t, tc.want, got, tc.reason)
			var want code
			assert.Equal(t, errors.As(tc.err, &want), ok, tc.reason)
			assert.Equal(t, want, got, tc.reason)
		})
	}
}
