// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// TestCommit_ADefaultInAListIsNotALoss: each reconcile computes the list again,
// without the fields that the schema sets.
func TestCommit_ADefaultInAListIsNotALoss(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		set    func() object
	}{
		"Element":   {"A list is one value of a merge patch.", func() object { return object{"conditions": []any{}, "steps": []any{object{"name": "a"}, object{"name": "b"}}} }},
		"Condition": {"Conditions are a list too.", func() object { return object{"conditions": []any{object{"type": "Ready", "status": "True", "reason": "Ok"}}} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.object(t, lists, "a")
			w := via(s.ours.dynamic(lists).Patch, status.Writer{})
			for range 3 {
				before := s.readLoose(t, lists)
				_, err := w.Commit(t.Context(), before, withStatus(before, tc.set()), running)
				require.NoError(t, err, tc.reason)
			}
			assert.Len(t, s.wire.Take(), 1, tc.reason)
		})
	}
}
