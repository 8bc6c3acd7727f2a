// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is measured must be the same job: each way must store the change, and
// nothing when there is none.
func TestEveryWayStoresTheChange(t *testing.T) {
	for _, w := range ways {
		for i, ch := range changes {
			what := w.name + ": " + ch.name
			want := ch.after().Status
			s, err := newServer(bigRun(), true)
			require.NoError(t, err)
			require.NoError(t, w.write(t.Context(), s, bigRun(), ch.after()), what)
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
