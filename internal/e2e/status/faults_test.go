// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/proompteng/controllerkit/internal/e2e/suite"
	"github.com/proompteng/controllerkit/status"
)

// TestAPIServerFrozenDuringCommit: the request waits in a socket until the API
// server thaws, long after the caller gave up, and may still be carried out.
// The next reconcile starts from the same copy and has the same result. The
// test does not run in parallel, because it would affect others.
func TestAPIServerFrozenDuringCommit(t *testing.T) {
	s := newStage(t)
	before := s.reconciled(t, "a")
	read := before.DeepCopy()
	attempt := func(ctx context.Context) (status.Result, error) {
		after := before.DeepCopy()
		after.Status.Phase = "Running"
		setCondition(after, "Ready", metav1.ConditionTrue, "Running")
		return via(s.ours.probes.Patch, status.Writer{Owned: []string{"Ready"}}).Commit(ctx, before, after, running)
	}
	require.NoError(t, plane.APIServer.Freeze())
	suite.Eventually(t, "its last thread stops", func(context.Context) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := s.theirs.probes.Get(ctx, "a", metav1.GetOptions{})
		return err != nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	result, err := attempt(ctx)
	require.NoError(t, plane.APIServer.Thaw())
	require.Error(t, err)
	assert.Empty(t, result)
	assert.Equal(t, read, before, "before has not changed, and can be reconciled again")

	_, err = attempt(t.Context())
	require.NoError(t, err)
	stored := s.read(t, "a")
	assert.Equal(t, "Running", stored.Status.Phase)
	assert.Equal(t, metav1.ConditionTrue, condition(stored, "Ready").Status)
	assert.Empty(t, status.Check(before.Status.Stamp, stored.Status.Stamp, stored.Generation))
}
