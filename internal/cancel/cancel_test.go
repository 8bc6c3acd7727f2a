// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package cancel_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/proompteng/controllerkit/internal/cancel"
)

var errBroken = errors.New("broken")

func TestOnly(t *testing.T) {
	wrapped := fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "/", Err: context.Canceled})
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":        {"There is no error.", nil, false},
		"Itself":     {"It is what a context says.", context.Canceled, true},
		"Wrapped":    {"As by an HTTP client.", wrapped, true},
		"Joined":     {"All that were started were cancelled.", errors.Join(wrapped, nil, context.Canceled), true},
		"WithOne":    {"One failed, and the others were cancelled for it.", errors.Join(wrapped, errBroken), false},
		"Deep":       {"However deep.", fmt.Errorf("all: %w", errors.Join(context.Canceled, fmt.Errorf("one: %w", errBroken))), false},
		"TwoVerbs":   {"Both say what it was.", fmt.Errorf("%w: %w", errBroken, context.Canceled), false},
		"Deadline":   {"That is a failure.", context.DeadlineExceeded, false},
		"NothingIn":  {"A wrapper that wraps nothing is an error of its own.", &url.Error{Op: "Get", URL: "/"}, false},
		"EmptyInner": {"As is a joined error of none.", joined{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, cancel.Only(tc.err), tc.reason) })
	}
}

type joined []error

func (joined) Error() string     { return "none" }
func (j joined) Unwrap() []error { return j }
