// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// What is measured must be the same job: each way must store the change, and
// nothing when there is none.
func TestEveryWayStoresTheChange(t *testing.T) {
	ways := map[string]func(ctx context.Context, s *server, after *Run) error{
		"ours": func(ctx context.Context, s *server, after *Run) error {
			c, err := s.typed()
			require.NoError(t, err)
			return ours(ctx, status.ForResource(resource(c)), bigRun(), after)
		},
		"ours/unstructured": func(ctx context.Context, s *server, after *Run) error {
			c, err := s.dynamic()
			require.NoError(t, err)
			return ours(ctx, status.ForResource(resource(c)), untyped(bigRun()), untyped(after))
		},
		"controller-runtime/unstructured": func(ctx context.Context, s *server, after *Run) error {
			c, err := s.controllerRuntime()
			require.NoError(t, err)
			return guardedUntyped(ctx, c, untyped(bigRun()), untyped(after))
		},
	}
	for _, h := range helpers {
		ways[h.name] = func(ctx context.Context, s *server, after *Run) error {
			c, err := s.controllerRuntime()
			require.NoError(t, err)
			return h.use(ctx, c, bigRun(), after)
		}
	}
	for name, write := range ways {
		for i, ch := range changes {
			what := name + ": " + ch.name
			want := ch.after().Status
			s, err := newServer(bigRun(), true)
			require.NoError(t, err)
			require.NoError(t, write(t.Context(), s, ch.after()), what)
			got, err := s.object()
			require.NoError(t, err)
			assert.Len(t, got.Status.Conditions, 5, what)
			assert.Equal(t, want.Conditions[2].Status, got.Status.Conditions[2].Status, what)
			assert.Equal(t, want.Phase+want.Message, got.Status.Phase+got.Status.Message, what)
			assert.Equal(t, i > 0, s.requests() > 0, what) // the first changes nothing
			assert.LessOrEqual(t, s.requests(), int64(2), what)
		}
	}
}
