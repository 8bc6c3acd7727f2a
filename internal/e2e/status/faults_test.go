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

	"github.com/proompteng/controllerkit/status"
)

// Faults: an API server that is down, hangs, or whose answer is lost. These
// tests do not run in parallel, because the faults would affect others.

func TestAPIServerDownDuringCommit(t *testing.T) {
	cases := map[string]struct {
		reason string
		// fault breaks the API server for one Commit. The returned function
		// repairs it.
		fault func(t *testing.T, s *stage) (mend func())
		// written says whether the API server stored the write nevertheless.
		written bool
	}{
		"Stopped": {
			"No server listens, so nothing is written.",
			func(t *testing.T, _ *stage) func() {
				t.Helper()
				require.NoError(t, plane.APIServer.Stop())
				return func() { require.NoError(t, plane.APIServer.Start(context.WithoutCancel(t.Context()))) }
			},
			false,
		},
		"Frozen": {
			"The request waits in a socket until the API server thaws, long after the caller gave up.",
			func(t *testing.T, s *stage) func() {
				t.Helper()
				require.NoError(t, plane.APIServer.Freeze())
				eventually(t, "its last thread stops", func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
					defer cancel()
					_, err := s.theirs.probes.Get(ctx, "a", metav1.GetOptions{})
					return err != nil
				})
				return func() { require.NoError(t, plane.APIServer.Thaw()) }
			},
			true, // or not
		},
		"ReplyLost": {
			"The write is stored, and its answer is lost.",
			func(_ *testing.T, s *stage) func() {
				s.wire.loseReply()
				return func() {}
			},
			true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			before := s.reconciled(t, "a")
			read := before.DeepCopy()
			attempt := func(ctx context.Context) (status.Result, error) {
				after := before.DeepCopy()
				after.Status.Phase = "Running"
				setCondition(after, "Ready", metav1.ConditionTrue, "Running")
				return via(s.ours.probes.Patch, writer{Owned: []string{"Ready"}}).Commit(ctx, before, after, running)
			}
			mend := tc.fault(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			result, err := attempt(ctx)
			mend()
			require.Error(t, err, tc.reason)
			assert.Empty(t, result)
			assert.Equal(t, read, before, "before has not changed, and can be reconciled again")
			if name != "Frozen" {
				assert.Equal(t, tc.written, s.read(t, "a").Status.Phase == "Running", tc.reason)
			}

			// The next reconcile starts from the same copy and has the same
			// result.
			result, err = attempt(t.Context())
			require.NoError(t, err)
			if tc.written && name != "Frozen" {
				assert.Equal(t, status.Unchanged, result, "it is written already")
			}
			stored := s.read(t, "a")
			assert.Equal(t, "Running", stored.Status.Phase)
			assert.Equal(t, metav1.ConditionTrue, condition(stored, "Ready").Status)
			assert.Empty(t, status.Check(before.Status.Stamp, stored.Status.Stamp, stored.Generation))
		})
	}
}
