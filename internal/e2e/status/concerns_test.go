// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// TestConcerns: the API server gives a new spec a generation, and a deletion
// its time. It gives neither to a write of the status, which therefore causes
// no reconcile.
func TestConcerns(t *testing.T) {
	cases := map[string]struct {
		reason string
		happen attempt
		want   bool
	}{
		"Status":  {"The controller's own write.", merge(`{"status":{"phase":"Running"}}`), false},
		"Spec":    {"A new generation.", mergeObject(`{"spec":{"image":"new"}}`), true},
		"Deleted": {"There is something to clean up.", remove, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.create(t, "a")
			c := s.theirs.dynamic(probes)
			require.NoError(t, mergeObject(`{"metadata":{"finalizers":["example.com/hold"]}}`)(t, c, names{}))
			before := s.read(t, "a")
			require.NoError(t, tc.happen(t, c, names{}))
			assert.Equal(t, tc.want, status.NeedsReconcile(before, s.read(t, "a")), tc.reason)
		})
	}
}
