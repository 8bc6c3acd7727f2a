// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/proompteng/controllerkit/status"
)

// A run that was deleted, or written by another client, during its reconcile
// has not failed: no Event, no condition, no request.
func TestARunThatIsGoneOrOvertakenIsNotHindered(t *testing.T) {
	for _, cause := range []error{status.ErrReplaced, status.ErrSuperseded, status.ErrFieldConflict} {
		run := newRun("nightly", "uid-1")
		a := &attempt{before: run, run: run.DeepCopy()} // without a Controller, so that any request would panic
		require.ErrorIs(t, a.hindered(t.Context(), cause), cause)
		assert.Equal(t, run, a.run)
	}
}
