// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/proompteng/controllerkit/status"
)

// TestErrors_AreConflicts: a controller that requeues without an alert on a
// conflict of the API server does the same after a lost race of a Writer.
func TestErrors_AreConflicts(t *testing.T) {
	for _, err := range []error{
		status.ErrStaleRead, status.ErrSuperseded, status.ErrReplaced, status.ErrFieldConflict,
	} {
		t.Run(err.Error(), func(t *testing.T) {
			wrapped := errors.Join(errors.New("the work failed"), fmt.Errorf("%w: a", err))
			assert.True(t, apierrors.IsConflict(wrapped))
			assert.False(t, apierrors.IsNotFound(wrapped))
		})
	}
}
