// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// What is measured must be the same job: each way must store the change, and
// nothing when there is none.
func TestEveryWayStoresTheChange(t *testing.T) {
	for _, ch := range changes {
		t.Run(ch.name, func(t *testing.T) {
			want := ch.after()
			writes := int64(1)
			if ch.name == "nothing changed" {
				writes = 0
			}
			check := func(t *testing.T, s *server, most int64) {
				t.Helper()
				got, err := s.object()
				require.NoError(t, err)
				assert.Len(t, got.Status.Conditions, 5)
				assert.Equal(t, want.Status.Conditions[2].Status, got.Status.Conditions[2].Status)
				assert.Equal(t, want.Status.Phase, got.Status.Phase)
				assert.Equal(t, want.Status.Message, got.Status.Message)
				assert.GreaterOrEqual(t, s.requests(), writes)
				assert.LessOrEqual(t, s.requests(), most)
			}
			t.Run("ours", func(t *testing.T) {
				s, err := newServer(bigRun(), true)
				require.NoError(t, err)
				c, err := s.typed()
				require.NoError(t, err)
				require.NoError(t, ours(t.Context(), status.ForResource(resource(c)), bigRun(), ch.after()))
				check(t, s, writes)
			})
			t.Run("ours/unstructured", func(t *testing.T) {
				s, err := newServer(bigRun(), true)
				require.NoError(t, err)
				c, err := s.dynamic()
				require.NoError(t, err)
				require.NoError(t, ours(t.Context(), status.ForResource(resource(c)), untyped(bigRun()), untyped(ch.after())))
				check(t, s, writes)
			})
			t.Run("controller-runtime/unstructured", func(t *testing.T) {
				s, err := newServer(bigRun(), true)
				require.NoError(t, err)
				c, err := s.controllerRuntime()
				require.NoError(t, err)
				require.NoError(t, guardedUntyped(t.Context(), c, untyped(bigRun()), untyped(ch.after())))
				check(t, s, writes)
			})
			for _, h := range helpers {
				t.Run(h.name, func(t *testing.T) {
					s, err := newServer(bigRun(), true)
					require.NoError(t, err)
					c, err := s.controllerRuntime()
					require.NoError(t, err)
					require.NoError(t, h.use(t.Context(), c, bigRun(), ch.after()))
					check(t, s, 2*writes)
				})
			}
		})
	}
}
